/* SPDX-License-Identifier: Apache-2.0
 *
 * The operator's limits for all executions of one supervisor together.
 */
#ifndef LAUNCHER_HOST_BUDGET_H
#define LAUNCHER_HOST_BUDGET_H

#include <stdint.h>

#include "common/limits.h"

/* memory_bytes as long as nobody said anything. */
#define BUDGET_MEMORY_DEFAULT UINT64_MAX

struct budget {
	uint32_t executions;   /* at once; 0: EXECUTIONS_DEFAULT */
	uint64_t memory_bytes; /* 0: none */
};

/*
 * Fill in what was not said. `cgroup` is the directory whose memory.max bounds us anyway, or -1
 * where limits are not cgroups: then the default is no bound of memory, because what a sandbox
 * reserves there is much more than what it uses.
 */
void budget_complete(struct budget *budget, int cgroup);

/* Three quarters of the lower of two numbers of bytes; 0 stands for "no bound" in either. */
uint64_t budget_share(uint64_t machine_bytes, uint64_t cgroup_bytes);

/* Return the number that a text is; 0 for what is none, such as "max" of memory.max. */
uint64_t budget_parse_number(const char *text);

#endif
