/* SPDX-License-Identifier: Apache-2.0
 *
 * The state that judge.c finds out and branches.c hands over. Part of branches.h.
 */
#ifndef LAYERS_BRANCHES_STATE_H
#define LAYERS_BRANCHES_STATE_H

#include "branches.h"
#include "index_edit.h"
#include "layers/ignored/git_index.h"

#define GIT ".git/"
#define GIT_SIZE (sizeof(GIT) - 1)
#define HEADS "refs/heads/"
#define HEADS_SIZE (sizeof(HEADS) - 1)

#define INDEX_PATH GIT "index"

/* Files that differ between two commits, by path. */
struct changed_files {
	struct index_change *all;
	size_t count, room;
};

struct branches {
	struct changed_files changes;   /* the checked-out branch's */
	struct changed_files committed; /* committed.h */
	char **left;                    /* sorted once they are searched */
	size_t left_count, left_room;
	bool is_sorted, is_lost; /* lost: for want of memory */
	struct branches_file *files;
	size_t file_count, file_room;
};

extern struct branches branches;

/* Return whether a ref of the host is a branch that would move. */
bool branches_is_branch(const struct commits_ref *ref);

/* Read the name of the branch that is checked out on the host; empty: none. 0 or -errno. */
int branches_read_head(const struct job *job, char ret[IPC_PATH_MAX]);

/* Find the files that differ between two commits, the old one zero for none. 0 or -errno. */
int branches_compare(const uint8_t now[OBJECT_ID_BYTES], const uint8_t old[OBJECT_ID_BYTES],
		     struct changed_files *ret);

/* Return whether these bytes are the content of a blob. */
bool branches_is_blob(const uint8_t id[OBJECT_ID_BYTES], const char *bytes, size_t size);

/* Return whether git holds one of the locks of a branch, and of the index if it is checked out. */
bool branches_is_locked(const struct job *job, const struct commits_ref *ref);

#endif
