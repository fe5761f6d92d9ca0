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
#define UNTRACED 252 /* no outcome: the test cannot be made */
#define HELD 253     /* what a link leads to could not be read: it stays out, and is told of */

/* What happens at the calls from number `at` on, counted from 1 among those that fit. */
struct fault {
	unsigned int at;
	int error;         /* of the call; 0: the process is killed before it */
	bool is_once;      /* else it stays so, for all calls that fit */
	bool changes_only; /* calls that change no file do not count: the files are the same before
			    * each of them, and a job that is not stopped there is much faster */
	bool (*fits)(const struct user_regs_struct *registers); /* NULL: every call */
	void (*act)(void); /* instead of a fault: somebody else does something */
	void (*look)(pid_t pid, const struct user_regs_struct *registers, bool does_fit);
};

struct outcome {
	bool was_reached;
	int code; /* what the job returned, positive; or one of these */
};

typedef int job_function(struct job *job);

/* Run a job of the rig to its end, or to that of its process. */
struct outcome fault_run(struct rig *rig, job_function *job, const struct fault *fault);

/* How many calls of a job that has no fault fit, after running it; and which of them are to be
 * tried. Most come again for each file: of all that come behind the same two calls it is the first,
 * the middle one and the last; with MSP_FAULTS=all each one. */
unsigned int fault_choose(struct rig *rig, job_function *job,
			  bool (*fits)(const struct user_regs_struct *registers));
bool fault_is_chosen(unsigned int at);

#endif
