/* SPDX-License-Identifier: Apache-2.0
 *
 * Held terminals: a background command (background/keep.h) whose keeper holds the sandbox's
 * terminal. A person's terminal is attached to it and detached from it; the command goes on without
 * one. The keeper listens on a socket beside the note, which only the account itself can reach.
 */
#ifndef CLI_HELD_HELD_H
#define CLI_HELD_HELD_H

#include <stdbool.h>

#include "background/keep.h"

struct held_options {
	const char *detach_keys; /* words of held_keys_parse(); NULL: the default ones */
	bool is_taking;          /* end the attachment of another terminal first */
	bool is_quiet;           /* without the line that says how to detach */
};

enum held_how {
	HELD_ENDED,    /* the command has ended: the code is msp's, as of 'msp exec' */
	HELD_DETACHED, /* it goes on: by the keys, by another attachment, or since it was too slow
			*/
	HELD_LOST,     /* its keeper was killed, and the command with it */
	HELD_HUNG_UP,  /* it goes on: the person's terminal is gone, or a signal came */
};

struct held_end {
	enum held_how how;
	int code; /* the exit code of msp */
};

/*
 * Start the command as background_start() does, with a terminal of the caller's size and kind, or
 * of 80 columns if the caller has none. `way` is that of background_start(), without `held`; NULL:
 * as usual. 0, or the exit code after a line.
 */
int held_start(const struct execute *what, const struct background_way *way,
	       struct background_start *ret);

/* Return whether a command was started with a terminal. */
bool held_is(const struct background *command);

/*
 * Attach the caller's terminal to a running command until one of them leaves, and give the terminal
 * back as it was. 0, after the lines of the end on stderr; or, after a line, the exit code of what
 * prevents it: MSP_EXIT_USAGE (no terminal here, no such command, none with a terminal) or
 * MSP_EXIT_AGAIN (another terminal is attached). The caller is the account by now
 * (launch_become_account()).
 */
int held_attach(const char *command_id, const struct held_options *options, struct held_end *ret);

/* Attach to a command that the caller has found; its state may change. */
int held_attach_to(struct background *command, const struct held_options *options,
		   struct held_end *ret);

/* End the attachment of another terminal. 0, or the exit code after a line; *ret: there was one. */
int held_evict(const struct background *command, bool *ret);

#endif
