/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of repositories as the job knows it (commits_ask.c), and the state that commits.c
 * finds and commits_files.c turns into files. Part of commits.h.
 */
#ifndef LAYERS_CHANGES_COMMITS_STATE_H
#define LAYERS_CHANGES_COMMITS_STATE_H

#include <sys/types.h>

#include "layers/branches/commits.h"

/* Host-executed files that the text of a ref names. */
#define COMMITS_NAMED_MAX 8

/* A file of git's that differs: relative to .git. */
struct commits_change {
	char *path;
	int source; /* as reader_ask.source; -1: it was deleted */
};

struct commits_packed {
	char *name;
	uint8_t id[OBJECT_ID_BYTES];
	bool is_deleted; /* the sandbox removed its loose ref */
};

struct commits_ref {
	char *path; /* on the host, relative to the workspace */
	uint8_t id[OBJECT_ID_BYTES];
	uint8_t bases[2][OBJECT_ID_BYTES]; /* as of branches_bases() */
	struct stat old;                   /* st_mode 0: there is none */
	int error;           /* -errno: it cannot be taken over; -EUSERS: nor the rest */
	const char *refusal; /* the reason why a branch cannot move; else NULL */
	bool is_checked_out; /* the branch, on the host */
	uint32_t commits;    /* that the host's branch lacks */
	uint32_t held;       /* host-executed files that differ, or that its commits change */
	uint32_t unnamed;
	size_t named_size;
	char named[512];
};

struct commits_object {
	uint8_t id[OBJECT_ID_BYTES];
	off_t at; /* in the spool */
	size_t size;
};

struct commits {
	pid_t reader;
	int requests, answers; /* -1: there is no reader */
	mode_t mode;           /* the host's .git's */
	int error;             /* -errno: the job cannot know what the commits say, and fails; 0 */
	bool is_moved;         /* a branch in git's data outside of the workspace */
	char stays[IPC_PATH_MAX];
	struct commits_change *changes;
	size_t change_count, change_room;
	struct commits_packed *packed;
	size_t packed_count, packed_room;
	struct commits_ref *refs; /* by path; at most COMMITS_REFS_MAX and one */
	size_t ref_count, ref_room;
	uint32_t rest; /* refs beyond the bound: the first of them has -EUSERS */
	struct commits_object *objects;
	size_t object_count, object_room;
	size_t sorted_count; /* the first so many are in the order of their ids */
	int spool;           /* -1 until the first object */
	off_t spooled;
};

extern struct commits commits;

/* Hear one answer; `bytes` has a NUL behind it. 0 or -errno, with which the request fails. */
typedef int (*commits_heard)(void *context, const struct reader_tell *tell, const uint8_t *bytes);

/* Ask the reader, with a body of `ask->body_size` bytes or (NULL) none, and hear every answer but
 * the last. Return the error of that one. -EOWNERDEAD, which stays the state's error: the reader
 * has died, as it does where its limits end. */
int commits_ask(const struct reader_ask *ask, const uint8_t *body, commits_heard heard,
		void *context, uint32_t *ret_count);

#endif
