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

struct talk {
	struct machine *machine;
	const struct mounts *mounts;
	char *const *arguments;
	uint32_t boot_ms; /* the time that a machine has until it listens */
	bool is_ready, is_late, is_ended, is_failed;
	bool is_terminal;
	bool is_wanted; /* the next part of stdin */
	struct wire_ended ended;
	struct wire_failed failed;
	uint32_t console_size;
	char console[TALK_CONSOLE_MAX]; /* the end of what the kernel said */
};

/* Block the signals that talk_run() forwards, before QEMU starts. */
void talk_begin(void);

/* Talk until the command has ended, or the machine. False: the machine did, or it never listened.
 */
bool talk_run(struct talk *talk);

/* Read the last words of QEMU and the kernel, when QEMU has ended. */
void talk_drain(struct talk *talk);

#endif
