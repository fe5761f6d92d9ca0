/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of a process that confines itself. Every step is required: the process ends when one
 * fails, and stderr names the step.
 */
#ifndef COMMON_CONFINE_STEPS_H
#define COMMON_CONFINE_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/confine/seccomp.h"
#include "common/kernel.h"

/* End the process with MSP_EXIT_REFUSED unless `error` (-errno) is 0. */
void confine_require(int error, const char *step);

/* Return the -errno of a call that returned `status`, 0 for success. */
int confine_result(int status);

/* Must: have descriptors 0 to 2, and the supervisor's channel behind them, or a sealed file if
 * `may_be_file`. Must not: leave another one open. */
void confine_keep_channel(int channel, bool may_be_file);

/* Must not: leave a way to new privileges, be looked into, or leave a core. */
void confine_privileges(void);

/* Must not: leave what confine_privileges() takes away, or a capability. */
void confine_rights(void);

/* Bound a resource (RLIMIT_*), for good. */
void confine_limit(unsigned int resource, uint64_t most, const char *step);

/* Create a Landlock ruleset that handles every right of files and scope that the kernel knows, and
 * of LANDLOCK_NET_ALL those in `net`, and allows nothing; *ret_attr is what it handles. */
int confine_ruleset(uint64_t net, struct kernel_landlock_ruleset *ret_attr);

/* Enter the ruleset's domain, and close it. */
void confine_enter(int ruleset);

/* Install a system call filter, an array. */
#define CONFINE_FILTER(filter)                                                                     \
	confine_require(seccomp_install((filter), sizeof(filter) / sizeof((filter)[0])),           \
			"installing the system call filter")

#endif
