/* SPDX-License-Identifier: Apache-2.0
 *
 * The program of an agent on this machine: on the caller's PATH, or where installers put programs;
 * its real file, the interpreter that its first line names, and the directories that a sandbox must
 * show so that it runs there as it does here.
 */
#ifndef CLI_AGENT_FIND_H
#define CLI_AGENT_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/rows.h"
#include "common/limits.h"

/* The package, the interpreter, and the environment that it stands for. */
#define AGENT_BINDS_MAX 4

/* Words of a first line behind the interpreter. */
#define AGENT_FLAGS_MAX 8

struct agent_program {
	char found[IPC_PATH_MAX];       /* as a person would call it */
	char file[IPC_PATH_MAX];        /* its real path */
	char interpreter[IPC_PATH_MAX]; /* real path; empty: the file itself is executed */
	char line[256];                 /* the first line's words, with a NUL behind each */
	uint32_t flag_count;
	const char *flags[AGENT_FLAGS_MAX]; /* in `line`: the interpreter's arguments */
	char path[IPC_PATH_MAX];            /* a directory for the front of PATH; empty: none */
	uint32_t bind_count;
	char binds[AGENT_BINDS_MAX][IPC_PATH_MAX]; /* to be shown at their own paths */
};

/* The places to look in. */
struct agent_places {
	const char *path; /* as PATH; NULL: none */
	const char *home; /* NULL: none */
};

enum agent_search {
	AGENT_FOUND,
	AGENT_NOT_FOUND,
	AGENT_NO_INTERPRETER, /* `line` names it */
};

/* Find the first program of the row that there is. */
enum agent_search agent_find(const struct agent_row *row, const struct agent_places *places,
			     struct agent_program *ret);

#endif
