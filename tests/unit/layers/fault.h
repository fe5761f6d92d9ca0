/* SPDX-License-Identifier: Apache-2.0
 *
 * A job in a process of its own, under ptrace(2): one of its system calls is its last one, or
 * fails, or somebody else does something before it.
 */
#ifndef UNIT_LAYERS_FAULT_H
#define UNIT_LAYERS_FAULT_H

#include <sys/types.h>
#include <sys/user.h>

#include "rig.h"

#define KILLED (-1)
#define CONFLICTS 255
#define UNTOLD 254
#define HELD 253 /* what a link leads to could not be read: it stays out, and is told of */

/* What happens at the calls from number `at` on, counted from 1 among those that fit. */
struct fault {
	unsigned int at;
	int error;    /* of the call; 0: the process is killed before it */
	bool is_once; /* else it stays so, for all calls that fit */
	bool (*fits)(const struct user_regs_struct *registers); /* NULL: every call */
	void (*act)(void); /* instead of a fault: somebody else does something */
	void (*look)(pid_t pid, const struct user_regs_struct *registers);
};

struct outcome {
	bool was_reached;
	int code; /* what the job returned, positive; or one of these */
};

typedef int job_function(struct job *job);

/* Run a job of the rig to its end, or to that of its process. */
struct outcome fault_run(struct rig *rig, job_function *job, const struct fault *fault);

#endif
