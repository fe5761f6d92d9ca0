/* SPDX-License-Identifier: Apache-2.0
 *
 * The two libraries that read git's objects: zlib for decompression, libgit2 for a SHA-1 that
 * detects collisions. Both are loaded on demand, because few jobs need them, and before the job is
 * confined, because a confined job opens no file of the system.
 */
#ifndef LAYERS_READER_LIBRARY_H
#define LAYERS_READER_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

/* SHA-1: repositories of `extensions.objectFormat = sha256` are refused. */
#define OBJECT_ID_BYTES 20

/* git's own numbers, in packs as in libgit2. */
enum object_type { OBJECT_COMMIT = 1, OBJECT_TREE, OBJECT_BLOB, OBJECT_TAG, OBJECT_TYPE_COUNT };

/* zlib's functions, with its own names and contracts. */
struct library_zlib {
	int (*inflateInit_)(z_streamp stream, const char *version, int size);
	int (*inflate)(z_streamp stream, int flush);
	int (*inflateEnd)(z_streamp stream);
	int (*compress2)(Bytef *to, uLongf *to_size, const Bytef *from, uLong size, int level);
	uLong (*compressBound)(uLong size);
};

/* Load both libraries. 0, or -ELIBACC: one is not installed. A second call does nothing. */
int library_load(void);

/* Return zlib's functions; only after library_load(). */
const struct library_zlib *library_zlib(void);

/* Find one of libgit2's functions, only after library_load(). */
bool library_find(const char *name, void *ret);

/* Compute an object's id. 0, or -EBADMSG: libgit2 refuses the bytes, as it does a collision. */
int library_hash(uint32_t type, const uint8_t *bytes, size_t size, uint8_t ret[OBJECT_ID_BYTES]);

#endif
