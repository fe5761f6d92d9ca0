/* SPDX-License-Identifier: Apache-2.0
 *
 * The commits that a ref would bring: every object that the host does not have, and every path at
 * which one of them changes a file that the host executes by itself.
 */
#ifndef COMMITS_WALK_H
#define COMMITS_WALK_H

#include <stdbool.h>

#include "objects.h"
#include "tree_names.h"

/* Bounds of one walk; beyond them it ends with -E2BIG. */
#define WALK_OBJECTS_MAX 200000U
#define WALK_ENTRIES_MAX 20000000U

/* The bytes of all new objects. A delta of some bytes makes an object of any size, so the size of a
 * sandbox's repository does not bound them. */
#define WALK_BYTES_MAX ((uint64_t)512 << 20)

/* People make no merge of more parents. */
#define PARENTS_MAX 64

struct commit {
	uint8_t tree[OBJECT_ID_BYTES];
	uint8_t parents[PARENTS_MAX][OBJECT_ID_BYTES];
	size_t parent_count;
};

struct walk {
	const struct objects *objects;
	void *context;
	/* Called for each object that the host does not have, a commit's contents before the
	 * commit. NULL: the caller wants none. 0 or -errno, which ends the walk. */
	int (*found)(void *context, const uint8_t id[OBJECT_ID_BYTES], const struct object *object);
	/* Called for each path that a commit changes, relative to the work tree, with a symbolic
	 * link's target (else NULL). NULL: the caller wants none. 0 or -errno. */
	int (*changed)(void *context, const char *path, const char *target);
	uint32_t commits; /* commits that the host does not have */
	/* private: */
	uint8_t (*seen)[OBJECT_ID_BYTES]; /* an open hash; all zero: free */
	size_t seen_count, seen_room;
	uint8_t (*waiting)[OBJECT_ID_BYTES];
	size_t waiting_count, waiting_room;
	uint32_t entries;
	uint64_t bytes;
	char path[IPC_PATH_MAX];
};

/* A tree that is compared with others, and its next entry. */
struct walk_side {
	struct object object; /* the caller frees it */
	const uint8_t *at;
	struct tree_entry entry;
	bool has_entry;
};

/* Open a tree before its first entry; `id` NULL: it is empty. `*entries` counts those of all trees.
 * 0 or -errno, as of walk_run(). */
int walk_open_side(const struct objects *objects, const uint8_t *id, uint32_t *entries,
		   struct walk_side *ret);

/* Take the next entry. 0; -EBADMSG also if it is out of order; or another -errno. */
int walk_next_entry(struct walk_side *side, uint32_t *entries);

/* Walk from the object that a ref names. 0; -ENOENT: an object is missing; -EBADMSG: one is
 * damaged, or git would refuse it; -E2BIG, -EFBIG: there is too much of it; -ENOTSUP: the ref names
 * no commit; -ENAMETOOLONG; -ENOMEM; another -errno. */
int walk_run(struct walk *walk, const uint8_t id[OBJECT_ID_BYTES]);

/* Read a commit and its object, which the caller frees. 0 or -errno, as of walk_run(). */
int walk_read_commit(const struct objects *objects, const uint8_t id[OBJECT_ID_BYTES],
		     struct object *ret_object, struct commit *ret);

#endif
