/* SPDX-License-Identifier: Apache-2.0
 *
 * Runtimes of the default profile: which programs they have here, and what installs the others. No
 * program is started but msp-vm, which tries KVM.
 */
#ifndef CLI_DOCTOR_RUNTIMES_H
#define CLI_DOCTOR_RUNTIMES_H

#include <limits.h>
#include <stddef.h>

#include "common/limits.h"
#include "common/plan.h"
#include "launcher/start/machine_program.h"

struct machine;

/* The languages of a profile, and the runtimes beside them. */
#define RUNTIMES_MAX (PLAN_LANGUAGES_MAX + 8)

struct runtime {
	char name[IPC_NAME_MAX];
	char program[PATH_MAX]; /* the file on the host, links followed; empty: it is not installed
				 */
	const char *use;        /* which part needs the program; empty: all of the runtime */
	const char *install;    /* a command; NULL: none is known, or it has to be in the image */
	char processor[MACHINE_ANSWER_MAX]; /* the answer of a trial of KVM; empty: there is none */
	bool has_kvm;
};

/* Find the runtimes. Return their number; 0: no policy could be read. */
size_t runtimes_find(const struct machine *machine, struct runtime ret[RUNTIMES_MAX]);

#endif
