/* SPDX-License-Identifier: Apache-2.0
 *
 * The descriptors that msp gives msp-vm-prepare, and its answer on stdout.
 */
#ifndef VM_PREPARE_REPORT_H
#define VM_PREPARE_REPORT_H

#include <stdint.h>

enum prepare_fd {
	PREPARE_FD_INPUT = 3, /* a package of a kernel, or a kernel */
	PREPARE_FD_OUTPUT,    /* the directory for kernel and initramfs */
	PREPARE_FD_MODULES,   /* a kernel's directory of modules; else what is no directory */
	PREPARE_FD_INIT,      /* the machine's first program */
	PREPARE_FD_END
};

#define PREPARE_VERSION_MAX 64
#define PREPARE_TEXT_MAX 512

/* Files of a prepared machine. */
#define PREPARE_KERNEL "kernel"
#define PREPARE_INITRAMFS "initramfs"
#define PREPARE_PROGRAM "msp-vm"

struct prepare_report {
	uint32_t is_done;
	uint32_t modules;
	char version[PREPARE_VERSION_MAX]; /* a package's; empty for a kernel */
	char text[PREPARE_TEXT_MAX];       /* why it is not done */
};

#endif
