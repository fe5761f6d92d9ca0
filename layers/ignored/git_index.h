/* SPDX-License-Identifier: Apache-2.0
 *
 * The names in git's index of the host's project: a file that git tracks is shown although a rule
 * ignores it. Nothing else of the index is read.
 */
#ifndef LAYERS_IGNORED_GIT_INDEX_H
#define LAYERS_IGNORED_GIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
