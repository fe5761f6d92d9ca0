/* SPDX-License-Identifier: Apache-2.0
 *
 * Detached mounts: what child-init builds trees from, and the doctor tries.
 */
#ifndef COMMON_MOUNT_H
#define COMMON_MOUNT_H

#include <stdint.h>

/*
 * A new file system of a type, not attached anywhere. `options` is `size` bytes of key and value
 * in turn with a NUL after each, an empty value for a key that takes none; `attributes` are
 * MOUNT_ATTR_*. Returns its descriptor, the caller's, or -errno.
 */
int mount_new(const char *type, const char *options, uint32_t size, uint64_t attributes);

/* A clone of the tree that `source` names, with its submounts and with `attributes` set on all of
 * it, not attached anywhere. Returns its descriptor, the caller's, or -errno. */
int mount_clone(int source, uint64_t attributes);

/* A directory of an overlay. */
struct mount_layer {
	const char *key; /* "lowerdir+" (the highest first), "upperdir" or "workdir" */
	int fd; /* in this mount namespace; O_PATH is enough. -errno: it could not be opened */
};

/*
 * An overlay of these, not attached anywhere, in whose options no directory has a name. Changes the
 * working directory. Returns its descriptor, the caller's, or -errno; -EINVAL when something is
 * mounted inside one of them.
 */
int mount_layers(const struct mount_layer *layers, uint32_t count, uint64_t attributes);

/*
 * An overlay of these lower layers, not attached anywhere. What is written through it goes to a new
 * tmpfs with `options`, which is attached over `place`, the path of a directory.
 * `layers` has room for two more. Changes the working directory. Returns its descriptor, the
 * caller's, or -errno; -EINVAL when something is mounted inside a layer.
 */
int mount_overlay(struct mount_layer *layers, uint32_t count, const char *place,
		  const char *options, uint32_t size, uint64_t attributes);

/* Set attributes on a mount and all below it; 0 or -errno. */
int mount_set_attributes(int mount, uint64_t attributes);

/* Let the file system below one mount, and nothing mounted in it, be written through it; 0 or
 * -errno. */
int mount_make_writable(int mount);

#endif
