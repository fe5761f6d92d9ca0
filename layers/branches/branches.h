/* SPDX-License-Identifier: Apache-2.0
 *
 * The refs of the host that a sandbox's commits become: `refs/msp/SANDBOX/NAME`, or, asked for with
 * CHANGES_BRANCHES, the host's own branches. A branch moves by a fast-forward only. If it is
 * checked out, the index follows it, and the work tree must. docs/decisions/0046-consent.md
 */
#ifndef LAYERS_BRANCHES_BRANCHES_H
#define LAYERS_BRANCHES_BRANCHES_H

#include "layers/base/journal.h"
#include "layers/changes/commits_state.h"
#include "layers/reader/refs.h"

/* Write the host's name, in the workspace, of a ref of the sandbox. False: it would be too long. */
bool branches_place(const struct job *job, const char *name, char ret[IPC_PATH_MAX]);

/* Return whether a name lies in the directory that another one would be. */
bool branches_is_below(const char *name, const char *above);

/* Read a branch of the host, `name` as in refs/heads/main. 0, -ENOENT or another -errno. */
int branches_read(const struct job *job, const char *name, uint8_t ret[OBJECT_ID_BYTES]);

/* Read the name of the branch that the host has checked out. 0; -ENOENT: none; another -errno. */
int branches_head(const struct job *job, char ret[IPC_PATH_MAX]);

/* Find the host's commits that a ref is compared with: the one of its branch, else HEAD's, and
 * HEAD's; all zero: there is none. */
void branches_bases(const struct job *job, const char *name, uint8_t ret[2][OBJECT_ID_BYTES]);

/* Return whether the host's branch or tag of that name has this commit already. */
bool branches_has(const struct job *job, const char *name, const uint8_t id[OBJECT_ID_BYTES]);

/* Judge a found ref: set its `refusal` if it is a branch that cannot move, and else prepare the
 * files that go along. 0 or -errno, if no other ref can be judged either. */
int branches_judge(const struct job *job, size_t number);

/* Remember a changed path that is left out of the apply without being an item of it. */
void branches_note_left(const struct job *job, const char *path);

enum branches_item {
	BRANCHES_AGREED, /* host and sandbox have the same */
	BRANCHES_STAYS,  /* the host's differs, and is not changed */
	BRANCHES_APPLIED,
};

struct branches_apply {
	/* Return what becomes of a path, and open what comes to it: a descriptor, also of a
	 * link's target, or -errno. *ret_file is left alone if nothing does. */
	enum branches_item (*look)(void *context, const char *path, int *ret_file);
	/* held_entry_flags() */
	uint32_t (*held)(const struct job *job, const char *path, const char *target);
	void *context;
};

/* Refuse a checked-out branch if the work tree would not follow it. A host-executed file must be in
 * the work tree as it is committed: git would write one that is in the index alone. */
void branches_follow(const struct job *job, size_t number, const struct branches_apply *apply);

/* A file that goes along with a branch: the index, or a log of the branch's values. */
struct branches_file {
	char *path; /* in the workspace */
	size_t ref;
	struct stat old;
	uint8_t *bytes;
	size_t size;
};

size_t branches_file_count(void);
const struct branches_file *branches_file(size_t number);

/* Check a ref whose files have been swapped in: 0; -ESTALE: git works on the branch, or the host
 * has checked out another one. */
int branches_settle(const struct job *job, size_t number);

/* Return whether the host's index has the entries of an index that msp wrote. git may have noted
 * the times of files in it since. */
bool branches_has_index(const struct job_directories *directories, const struct journal_side *side);

/* Say for people what a ref brings, or why it brings nothing. */
void branches_describe(const struct commits_ref *ref, char ret[IPC_PATH_MAX]);

void branches_end(void);

#endif
