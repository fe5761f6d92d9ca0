/* SPDX-License-Identifier: Apache-2.0
 *
 * The base of a file in conflict: the version of which both sides were made. No copy of it is kept,
 * so it is looked for in the history of git, and the SHA-256 that was noted proves it. Whoever
 * wrote the repository cannot choose it, therefore.
 */
#ifndef LAYERS_MERGER_ANCESTOR_H
#define LAYERS_MERGER_ANCESTOR_H

#include "layers/reader/objects.h"
#include "layers/reader/reader.h"

/* Commits that are searched for one file, the newest of each branch first. */
#define ANCESTOR_COMMITS_MAX 2000U

/* Find the file `ask->path` with the noted content among the commits that are checked out in any of
 * the directories .git (-1: there is none; the host's last) and those before them. 0, and the
 * caller frees the object; -ENOENT: no commit has it; -E2BIG: the search of all files so far took
 * too long; -ENOMEM. */
int ancestor_find(const int *gits, const struct objects *objects, const struct reader_ask *ask,
		  struct object *ret);

/* Return whether this is the content that was noted. */
bool ancestor_is(const struct reader_ask *ask, const uint8_t *bytes, size_t size);

/* The reader's answer to READER_MERGE. Read the two sides that follow a request, merge them since
 * the base that it names, and tell of the result. `gits`: as many as there are sources of objects.
 * 0; -EPROTO: the sides are not read; another -errno, as of ancestor_find() or text_merge(). */
int answer_merge(int requests, const int *gits, const struct objects *objects,
		 const struct reader_ask *ask,
		 int (*tell)(void *context, const struct reader_tell *what, const void *bytes),
		 void *context);

#endif
