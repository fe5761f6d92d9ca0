/* SPDX-License-Identifier: Apache-2.0
 *
 * From the launcher's messages to a factory that is setting itself up. Whether that went well is
 * its first message (handlers.c); requests can wait in its channel before.
 */
#ifndef SUPERVISOR_START_H
#define SUPERVISOR_START_H

#include <signal.h>
#include <stdint.h>

#include "base/audit.h"
#include "common/ipc/ipc_start.h"
#include "front/service.h"

/* The launcher's messages and descriptors. Descriptors are owned by this struct, -1 when absent. */
struct start {
	int policy;
	int cgroup;
	int state;
	int opener;        /* channel to the part of the launcher that stays */
	uint32_t frontend; /* enum frontend_mode */
	uint32_t limits;   /* the operator's choice */
	struct audit_place audit;
	struct service service;
	struct ipc_supervisor_run run;
};

/* Check the descriptors that this process was executed with (enum start_fd), receive the launcher's
 * messages, check them and this machine against the plan's requirements, and tell the factory what
 * it serves from. Fills `supervisor`. Ends the process with a message and exit code 78, 70 or 64
 * when it cannot. */
void start_supervisor(struct start *ret);

/* Has the factory ended? As waitid(2) answers with these flags besides, without waiting. 0 or
 * -errno. */
int start_ask_factory(int flags, siginfo_t *ret);

#endif
