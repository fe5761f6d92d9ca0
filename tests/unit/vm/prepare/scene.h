/* SPDX-License-Identifier: Apache-2.0
 *
 * Packages and kernels in memory, for the unit tests and a fuzz target.
 */
#ifndef TESTS_UNIT_VM_PREPARE_SCENE_H
#define TESTS_UNIT_VM_PREPARE_SCENE_H

#include "vm/prepare/prepare.h"

struct scene_file {
	const char *path;
	const void *bytes;
	size_t size;
};

enum scene_compression {
	SCENE_PLAIN,
	SCENE_GZIP,
	SCENE_XZ,
	SCENE_ZSTD,
};

/* Make a Debian package with these files. */
struct content scene_package(const struct scene_file *files, size_t count,
			     enum scene_compression compression);

/* Compress bytes, as a module or the program of a kernel is. */
struct content scene_pack(const void *bytes, size_t size, enum scene_compression compression);

/* Put a kernel of the boot protocol around a packed program. */
struct content scene_kernel(const struct content *packed);

/* Read a package as msp-vm-prepare does. */
int scene_read(const struct content *package, struct parts *parts);

/* Free all parts, and forget the report. */
void scene_clear(struct parts *parts);

#endif
