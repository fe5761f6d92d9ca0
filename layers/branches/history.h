/* SPDX-License-Identifier: Apache-2.0
 *
 * The way from one commit to another, for the reader of repositories: the commits between them, and
 * the files that differ.
 */
#ifndef LAYERS_BRANCHES_HISTORY_H
#define LAYERS_BRANCHES_HISTORY_H

#include "layers/reader/objects.h"

/* A search for an ancestor ends beyond so many commits with -E2BIG. */
#define HISTORY_COMMITS_MAX 200000U

/* Find a way from the commit `id` down to its ancestor `old`, and call `found` for each commit on
 * it but `old`, the oldest first: each has the one before among its parents. 0; -ESTALE: `old` is
 * no ancestor; the errors of walk_run(). */
int history_chain(const struct objects *objects, const uint8_t old[OBJECT_ID_BYTES],
		  const uint8_t id[OBJECT_ID_BYTES],
		  int (*found)(void *context, const uint8_t id[OBJECT_ID_BYTES],
			       const struct object *object),
		  void *context);

/* A file, link or submodule that differs. Modes are enum tree_mode; 0: there is none. */
struct history_file {
	uint32_t old_mode, new_mode;
	uint8_t old_id[OBJECT_ID_BYTES], new_id[OBJECT_ID_BYTES];
};

/* Compare the trees of two commits. `*again`: as of walk_compare(). 0 or -errno, as of walk_run().
 */
int history_files(const struct objects *objects, const uint8_t old[OBJECT_ID_BYTES],
		  const uint8_t id[OBJECT_ID_BYTES], uint32_t *again,
		  int (*found)(void *context, const struct history_file *file, const char *path),
		  void *context);

#endif
