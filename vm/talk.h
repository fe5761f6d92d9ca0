/* SPDX-License-Identifier: Apache-2.0
 *
 * The talk with a machine: the request, then everything that goes in and out.
 */
#ifndef VM_TALK_H
#define VM_TALK_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/machine.h"
#include "vm/wire.h"

#define TALK_CONSOLE_MAX 4096

enum talk_end {
	TALK_NONE = 0,
	TALK_ENDED,    /* the command has ended, as `ended` says */
	TALK_FAILED,   /* the command was not started, as `failed` says */
	TALK_SIGNALED, /* a signal came before there was a command: `ended` has it */
	TALK_GONE,     /* the machine has ended */
	TALK_LATE,     /* the machine does not listen in its time */
	TALK_WRONG,    /* the machine sent a frame that its first process does not send */
	TALK_DEAF,     /* the machine reads no more frames */
};

struct talk {
	struct machine *machine;
	const struct mounts *mounts;
	char *const *arguments;
	uint32_t boot_ms; /* the time that a machine has until it listens */
	enum talk_end end;
	bool is_ready; /* the machine listens */
	bool is_terminal;
	bool is_wanted; /* the next part of stdin */
	bool is_deaf;   /* the machine has not read in the time that its port has for that */
	struct wire_ended ended;
	struct wire_failed failed;
	uint32_t console_size;
	char console[TALK_CONSOLE_MAX]; /* the end of what the kernel said */
};

/* Block the signals that talk_run() forwards, before QEMU starts. */
void talk_begin(void);

/* Talk with a new machine until the command has ended, or the machine. */
enum talk_end talk_run(struct talk *talk);

/* Read the last words of QEMU and the kernel, when QEMU has ended. Do not wait for more: another
 * process may have the other end. */
void talk_drain(struct talk *talk);

/* Return whether a command can have ended by the signal: a machine may name one that stops its
 * reader. */
bool talk_is_fatal(uint32_t signal);

#endif
