/* SPDX-License-Identifier: Apache-2.0
 *
 * The start of a background command: its keeper is a process of msp in a session of its own, which
 * asks a supervisor for the execution as `msp exec` does, and keeps output and result on disk.
 */
#ifndef CLI_BACKGROUND_KEEP_H
#define CLI_BACKGROUND_KEEP_H

#include "ask/execute.h"
#include "background/note.h"

struct background_start {
	char id[BACKGROUND_ID_MAX];
	char sandbox[IPC_ID_MAX];
	uint64_t wall_ms; /* the longest time that it may run; 0: not known */
};

/* Holds a terminal for the command (ask/taker.h), in the keeper. */
struct background_held {
	const struct session_holder *holder;
	/* Called with the command's directory, before the start is reported. 0, or -errno, which
	 * ends the command. */
	int (*begin)(void *context, int directory);
	/* Called when the command has ended, before that is on disk. */
	void (*end)(void *context);
};

/* The way in which the keeper runs the command. */
struct background_way {
	int (*run)(void *context, const struct execute *what); /* NULL: execute() */
	void *context;
	const struct background_held *held; /* NULL: the command has no terminal */
};

/* Start it, in a way or as usual (NULL), and wait until the start has succeeded. 0, or the exit
 * code after the lines that `msp exec` says, and nothing is there of it. */
int background_start(const struct execute *what, const struct background_way *way,
		     struct background_start *ret);

#endif
