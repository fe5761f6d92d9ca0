/* SPDX-License-Identifier: Apache-2.0
 *
 * git's index of the host's project: its entries, and the names in it. A file that git tracks is
 * shown although a rule ignores it.
 */
#ifndef LAYERS_IGNORED_GIT_INDEX_H
#define LAYERS_IGNORED_GIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"

#define INDEX_HEAD_BYTES 12
#define INDEX_STAT_BYTES 40 /* times and numbers of a file; the mode is among them: */
#define INDEX_MODE_AT 24

/* Flags of an entry; if it is EXTENDED, it has two more bytes of them. */
#define INDEX_PASSED_OVER 0x8000U
#define INDEX_EXTENDED 0x4000U
#define INDEX_STAGE 0x3000U

/* A larger index is not read: 200,000 files have some 25 MB. */
#define INDEX_BYTES_MAX ((size_t)256 << 20)

/* An index as it is read (gitformat-index(5), versions 2 to 4), and its last entry. */
struct git_index_reader {
	const uint8_t *at, *end;
	uint32_t version;
	uint32_t left; /* entries that are not read yet */
	size_t id_bytes;
	const uint8_t *id;
	uint32_t mode;
	uint32_t flags; /* PASSED_OVER also if it is sparse, or is to be added later */
	char name[IPC_PATH_MAX];
};

/* Begin with the bytes of an index whose ids have so many bytes. 0 or -EBADMSG. */
int git_index_begin(struct git_index_reader *reader, const uint8_t *bytes, size_t size,
		    size_t id_bytes);

/* Read the next entry. 1; 0: there is none, and the rest of the file is right; -ENOTSUP: a part of
 * the index lies elsewhere, or is left out; -EBADMSG, also of names that are out of order. */
int git_index_next(struct git_index_reader *reader);

struct git_index {
	char *names; /* in git's order, by their bytes; NUL after each */
	size_t size, room;
	uint32_t *starts; /* the offset of each name */
	size_t count, starts_room;
};

/* Read the names of an index (gitformat-index(5), versions 2 to 4, SHA-1 or SHA-256). 0; -EBADMSG:
 * it is no such file, or a part of it lies elsewhere; -ENOMEM. After a failure nothing is held. */
int git_index_read(struct git_index *index, const uint8_t *bytes, size_t size);

/* Does it name this file, or a file below this directory? */
bool git_index_has(const struct git_index *index, const char *path);

void git_index_free(struct git_index *index);

#endif
