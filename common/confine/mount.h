/* SPDX-License-Identifier: Apache-2.0
 *
 * Mounts that child-init builds trees from, and the doctor tries; detached but for overlays.
 */
#ifndef COMMON_CONFINE_MOUNT_H
#define COMMON_CONFINE_MOUNT_H

#include <stdint.h>

/*
 * A new file system of a type, not attached anywhere. `options` is `size` bytes of key and value
 * in turn with a NUL after each; `attributes` are
 * MOUNT_ATTR_*. Returns its descriptor, the caller's, or -errno.
 */
int mount_new(const char *type, const char *options, uint32_t size, uint64_t attributes);

/* A clone of the tree that `source` names, with its submounts and with `attributes` set on all of
 * it, not attached anywhere. Returns its descriptor, the caller's, or -errno. */
int mount_clone(int source, uint64_t attributes);

/*
 * Mount an overlay over `place`, the path of a directory, from which the caller can move it.
 * `layers` are `count` O_PATH descriptors of directories of this mount namespace, or -errno of one
 * that could not be opened: the upper, the work directory, then the lower ones, the highest first.
 * In the overlay's options each is the number of its descriptor. `attributes` are
 * MOUNT_ATTR_NOSUID, _NODEV and _NOEXEC; `host` is the root of a tree with a /proc. Changes the
 * working directory. Returns the O_PATH descriptor of the overlay's root, the caller's, or -errno;
 * -EINVAL when something is mounted inside a layer.
 */
int mount_layers(const int *layers, uint32_t count, uint64_t attributes, int host,
		 const char *place);

/* As mount_layers(), but the first two are made on a new tmpfs with `options`, which is attached
 * over `place` below the overlay. */
int mount_overlay(int *layers, uint32_t count, int host, const char *place, const char *options,
		  uint32_t size, uint64_t attributes);

/* Set attributes on a mount and all below it; 0 or -errno. */
int mount_set_attributes(int mount, uint64_t attributes);

/* Let the file system below one mount, and nothing mounted in it, be written through it; 0 or
 * -errno. */
int mount_make_writable(int mount);

#endif
