/* SPDX-License-Identifier: Apache-2.0
 *
 * msp-vm-prepare, which reads kernels and their packages.
 */
#ifndef LAUNCHER_START_MACHINE_PROGRAM_H
#define LAUNCHER_START_MACHINE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/prepare/report.h"

struct machine_source {
	const char *name; /* the path of the package or kernel */
	int input;        /* the package, or the kernel */
	int modules;      /* the kernel's directory of modules */
	bool is_package;
	uint32_t modules_found;
	char version[PREPARE_VERSION_MAX]; /* a package's is found in it */
};

/* QEMU, where the sandboxes of machines have it. */
#define MACHINE_EMULATOR "/usr/bin/qemu-system-x86_64"

#define MACHINE_ANSWER_MAX 160

/* Let msp-vm try KVM as this user. True: machines have it. False: they are emulated. The answer is
 * its line: "KVM", or "emulated: " and the reason. */
bool machine_program_try_kvm(char ret[MACHINE_ANSWER_MAX]);

/* Write kernel and initramfs into the directory. 0, or the exit code after a line. */
int machine_program_prepare(struct machine_source *source, int directory);

#endif
