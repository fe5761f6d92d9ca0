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

/* The reader's answer to READER_MERGE. Read the two sides that follow a request, merge them since
 * the base that it names, and tell of the result. `gits`: as many as there are sources of objects.
 * 0; -EPROTO: the sides are not read; -E2BIG: the search of all files so far took too long;
 * another -errno, as of text_merge(). */
int answer_merge(int requests, const int *gits, const struct objects *objects,
		 const struct reader_ask *ask,
		 int (*tell)(void *context, const struct reader_tell *what, const void *bytes),
		 void *context);

#endif
