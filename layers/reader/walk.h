/* SPDX-License-Identifier: Apache-2.0
 *
 * The commits that a ref would bring to a branch of the host: every object that the host does not
 * have, and every path that differs in the end or in between.
 */
#ifndef LAYERS_READER_WALK_H
#define LAYERS_READER_WALK_H

#include <limits.h>
#include <stdbool.h>

#include "ids.h"
#include "objects.h"
#include "tree_names.h"

/* Bounds of one walk; beyond them it ends with -E2BIG. */
#define WALK_OBJECTS_MAX 200000U
#define WALK_ENTRIES_MAX 20000000U

/* The bytes of all new objects. A delta of some bytes makes an object of any size, so the size of a
 * sandbox's repository does not bound them. */
#define WALK_BYTES_MAX ((uint64_t)512 << 20)

/* Trees that a walk compares again, in another place, and that all walks of a reader do. Trees in
 * one another have more paths than any disk has bytes; a project repeats some thousand. */
#define WALK_AGAIN_MAX 16384U
#define WALK_AGAIN_ALL 262144U

/* The host's commits, at most, among which a walk looks for the one where it may end. */
#define WALK_KNOWN_MAX 200000U

/* The host's commits that all walks of a reader read, half a minute of work: a ref of 41 bytes may
 * lead over all of a long history. To compare one takes as long as to read so many. */
#define WALK_READ_ALL 1000000U
#define WALK_READ_COMPARED 64U

/* People make no merge of more parents. */
#define PARENTS_MAX 64

struct commit {
	uint8_t tree[OBJECT_ID_BYTES];
	uint8_t parents[PARENTS_MAX][OBJECT_ID_BYTES];
	size_t parent_count;
};

/* The history of the host's branch and of its HEAD, as far as it was looked at. */
struct walk_known {
	uint8_t bases[2][OBJECT_ID_BYTES]; /* as of struct walk */
	struct ids ids;
	uint8_t (*queue)[OBJECT_ID_BYTES];
	size_t next, count, room;
	uint32_t read; /* commits of WALK_READ_ALL, whatever the bases */
};

struct walk {
	const struct objects *objects;
	void *context;
	/* Called for each object that the host does not have, a commit's contents before the
	 * commit. NULL: the caller wants none. 0 or -errno, which ends the walk. */
	int (*found)(void *context, const uint8_t id[OBJECT_ID_BYTES], const struct object *object);
	/* Called once for each path that differs between the ref's tree and the one of bases[0], or
	 * that a commit changes which is in the history of neither base. The path is relative to
	 * the work tree, `mode` is the new one (TREE_LACKING, too) or 0, `target` a symbolic
	 * link's, else NULL. NULL: the caller wants none, and commits of the host are passed over.
	 * 0 or -errno. */
	int (*changed)(void *context, const char *path, uint32_t mode, const char *target);
	/* The host's commits: the one of the branch, and HEAD's. All zero: there is none. */
	uint8_t bases[2][OBJECT_ID_BYTES];
	struct walk_known *known; /* kept from walk to walk; needed with `changed` */
	uint32_t commits;         /* commits that neither base has */
	int git;                  /* the host's .git; negative: there is none */
	uint32_t *again;          /* the count of all walks; NULL: there is no other */
	/* private: */
	int (*differs)(void *context, const char *path, const struct tree_entry *old,
		       const struct tree_entry *now);
	struct ids seen, trees, told;
	uint8_t (*waiting)[OBJECT_ID_BYTES];
	size_t waiting_count, waiting_room;
	uint32_t entries, again_here;
	int lacking; /* -errno that the walk ends with */
	uint64_t bytes;
	char path[IPC_PATH_MAX];
};

/* A tree that is compared with others, and its next entry. */
struct walk_side {
	struct object object; /* the caller frees it */
	const uint8_t *at;
	struct tree_entry entry;
	bool has_entry;
	/* Beginnings of the entry's name that are names of files before it, by their lengths: a
	 * directory sorts behind "a.b" and is "a" all the same. */
	bool is_file[NAME_MAX + 1];
};

/* Open a tree before its first entry; `id` NULL: it is empty. `*entries` counts those of all trees.
 * 0 or -errno, as of walk_run(). */
int walk_open_side(const struct objects *objects, const uint8_t *id, uint32_t *entries,
		   struct walk_side *ret);

/* Take the next entry. 0; -EBADMSG also if it is out of order; or another -errno. */
int walk_next_entry(struct walk_side *side, uint32_t *entries);

/* Walk from the object that a ref names. 0; -ENOENT: an object is missing; -ENODATA: the host lacks
 * the content of a file of git-lfs, -ENOLINK: the commit of a submodule; -EBADMSG: an object is
 * damaged, or git would refuse it; -E2BIG, -EFBIG: there is too much of it; -ENOTSUP: the ref names
 * no commit; -ENAMETOOLONG; -ENOMEM; another -errno. */
int walk_run(struct walk *walk, const uint8_t id[OBJECT_ID_BYTES]);

/* Forget the history of the host. */
void walk_forget(struct walk_known *known);

/* Compare the trees of two commits: `differs` is called for each file, link or submodule; NULL:
 * that side lacks it. `*again`: as of struct walk. 0 or -errno, as of walk_run(). */
int walk_compare(const struct objects *objects, const uint8_t old[OBJECT_ID_BYTES],
		 const uint8_t now[OBJECT_ID_BYTES], uint32_t *again,
		 int (*differs)(void *context, const char *path, const struct tree_entry *old,
				const struct tree_entry *now),
		 void *context);

/* Read a commit and, unless NULL, its object, which the caller frees. 0 or -errno, as of
 * walk_run(). */
int walk_read_commit(const struct objects *objects, const uint8_t id[OBJECT_ID_BYTES],
		     struct object *ret_object, struct commit *ret);

#endif
