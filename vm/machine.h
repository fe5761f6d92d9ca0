/* SPDX-License-Identifier: Apache-2.0
 *
 * QEMU: its arguments, its start and its end.
 */
#ifndef VM_MACHINE_H
#define VM_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vm/mounts.h"

/* A machine that reads no message for so many seconds has lost its first process. */
#define MACHINE_READ_S 30

struct machine_options {
	const char *files;    /* directory of kernel and initramfs */
	const char *emulator; /* QEMU's program */
	uint32_t memory_mb;
	uint32_t processors;
	bool has_kvm; /* else it is emulated */
};

struct machine {
	pid_t emulator;
	int port;    /* to the first process of the machine */
	int console; /* the kernel's lines; -1: there will be no more */
};

/* Start QEMU, which ends with this process. False after a line on stderr. */
bool machine_start(const struct machine_options *options, const struct mounts *mounts,
		   struct machine *ret);

/* Wait so long for QEMU's own end, and then kill it. Return its status as wait(2) gives it. The
 * console can be read to its end. */
int machine_end(struct machine *machine, uint32_t wait_ms);

#endif
