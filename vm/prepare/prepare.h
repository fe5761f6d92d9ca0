/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts that a machine is made of, in memory, and how they are found and written.
 */
#ifndef VM_PREPARE_PREPARE_H
#define VM_PREPARE_PREPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/prepare/report.h"

struct archive;

/* Bytes of a file, from malloc(). */
struct content {
	uint8_t *bytes;
	size_t size, room;
};

/* Modules in the order in which they are loaded: those of each bus, the port, 9p. */
#define MODULES(MODULE)                                                                            \
	MODULE("virtio_ring")                                                                      \
	MODULE("virtio")                                                                           \
	MODULE("virtio_pci_legacy_dev")                                                            \
	MODULE("virtio_pci_modern_dev")                                                            \
	MODULE("virtio_pci")                                                                       \
	MODULE("virtio_console")                                                                   \
	MODULE("netfs")                                                                            \
	MODULE("fscache")                                                                          \
	MODULE("9pnet")                                                                            \
	MODULE("9pnet_virtio")                                                                     \
	MODULE("9p")

#define MODULE_COUNT 11

struct parts {
	struct content kernel;
	struct content modules[MODULE_COUNT];
	bool is_builtin[MODULE_COUNT];
	struct content init;
};

extern struct prepare_report report;
extern const char *const module_names[MODULE_COUNT];

/* Put the reason into the report. Return -1. */
int refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Refuse with the reason of libarchive, which has none for some failures. Return -1. */
int refuse_archive(const char *what, struct archive *archive);

/* Append bytes. False: there is no memory for them. */
bool content_append(struct content *content, const void *bytes, size_t size);

/* Read to the end of a file, at most `most` bytes of it. 0 or -1, refused. */
int content_read(int fd, size_t most, const char *name, struct content *ret);

/* Take the parts of a kernel's Debian package; of a kernel and its directory of modules. */
int package_read(int fd, struct parts *parts);
int modules_read(int directory, struct parts *parts);

/* Take the file at `path` of a package or directory, which `content` has. It is freed if it is no
 * part. */
int parts_take(struct parts *parts, const char *path, struct content content);

/* Check that nothing is missing. 0 or -1, refused. */
int parts_check(const struct parts *parts);

/* Unpack what a compressed file holds, at most `most` bytes. 0 or -1, refused. */
int content_unpack(const struct content *packed, size_t most, const char *name,
		   struct content *ret);

/* Write the kernel as a plain program, which starts sooner; the archive of first files. */
int kernel_write(int directory, const struct content *kernel);
int initramfs_write(int directory, const struct parts *parts);

/* Write a new file of the directory. */
int file_write(int directory, const char *name, const void *bytes, size_t size);

#endif
