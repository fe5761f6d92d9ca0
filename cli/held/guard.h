/* SPDX-License-Identifier: Apache-2.0
 *
 * A process beside an attached msp. If that is killed, the guard gives the person's terminal back:
 * a killed process cannot, and a shell restores no screen, mouse or keyboard.
 */
#ifndef CLI_HELD_GUARD_H
#define CLI_HELD_GUARD_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#include "held/modes.h"

/* Memory of both processes. */
struct guard_shared {
	bool is_taken;         /* the terminal is to be given back */
	struct termios before; /* as it was */
	struct modes modes;
};

struct guard {
	pid_t pid; /* 0: there is none, since the machine has no room for it */
	int alive; /* its other end is closed with this process */
	bool is_mapped;
	struct guard_shared *shared;
};

/* Start the guard of the terminal that standard input and output are. Without room for it, the
 * memory is there alone. */
void guard_begin(struct guard *guard);

/* End it. The terminal was given back. */
void guard_end(struct guard *guard);

/* Write `size` bytes to a terminal in spite of a full one, but not for ever. */
void guard_write(int to, const char *text, size_t size);

/* Write what gives the terminal back, as far as a program has changed its modes. */
void guard_write_reset(int to, const struct modes *modes);

#endif
