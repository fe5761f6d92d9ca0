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

/* Start it, and wait until the start has succeeded. 0, or the exit code after the lines that `msp
 * exec` says, and nothing is there of it. */
int background_start(const struct execute *what, struct background_start *ret);

#endif
