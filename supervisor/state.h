/* SPDX-License-Identifier: Apache-2.0
 *
 * What the supervisor knows. Everything is in fixed tables: there is no allocation after start and
 * so no path on which memory could run out.
 */
#ifndef SUPERVISOR_STATE_H
#define SUPERVISOR_STATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/channel.h"
#include "common/names.h"
#include "common/plan.h"
#include "loop.h"

enum execution_state {
	EXECUTION_FREE,
	EXECUTION_LIVE,   /* its sandbox is being made or its workload runs */
	EXECUTION_ENDING, /* a kill was sent; waits for the init's report */
	EXECUTION_DONE,   /* reported; waits for the sandbox to be gone */
};

/* One execution in its own ephemeral sandbox. The table index is the slot in every message. */
struct execution {
	enum execution_state state;
	uint32_t slot;
	uint32_t profile;
	uint64_t request;
	struct channel init; /* fd -1 when ended */
	int pidfd;           /* of the init; -1 until the factory answered */
	bool has_answer;     /* the factory answered */
	uint32_t verdict;    /* why it is being killed; EXITED when it is not */
	uint64_t started_us;
	uint64_t deadline_us;
	struct loop_watch init_watch;
	struct loop_watch pid_watch;
};

struct supervisor {
	struct plan plan;
	enum limits_mode limits;
	int landlock_abi;
	int cgroup; /* directory with our sandboxes' cgroups, or -1 */
	struct channel factory;
	pid_t factory_pid;
	int factory_pidfd;
	struct channel frontend;
	bool is_ending;
	int exit_status;
	struct execution executions[EXECUTIONS_MAX];
};

extern struct supervisor supervisor;

#endif
