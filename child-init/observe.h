/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts of the calls that a workload's filter refuses. The filter decides and asks the init about
 * each refused call, which answers EPERM to all but one: it sets the mode of a directory with the
 * set-group-ID bit itself (common/confine/directory_mode.h). Without an answer the call waits;
 * without an init it gets ENOSYS: in no case does the kernel go on with it.
 */
#ifndef CHILD_INIT_OBSERVE_H
#define CHILD_INIT_OBSERVE_H

#include "common/records/denial.h"
#include "init.h"

struct ipc_spawn_done;

/* The listener and the denials of one workload. */
struct observed {
	int listener; /* -1: there is none */
	bool is_over; /* no process is left to ask */
	struct denials refused;
};

#define OBSERVED_NOTHING                                                                           \
	{                                                                                          \
		.listener = -1                                                                     \
	}

/* Answer from now on for this listener, -1: there is none. Takes the descriptor. */
void observe_begin(struct observed *observed, int listener);

/* To be polled for POLLIN while it is not -1. */
int observe_fd(const struct observed *observed);

/* After a poll that gave the listener these `revents`: answer one call, if there is one. */
void observe_answer(struct observed *observed, const struct init *init, short revents);

/* Report the denials until now. */
void observe_report(const struct observed *observed, struct ipc_spawn_done *done);

#endif
