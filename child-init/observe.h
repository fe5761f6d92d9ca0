/* SPDX-License-Identifier: Apache-2.0
 *
 * What a workload is refused by its filter, counted. The filter decides; what it refuses it asks
 * the init about, which answers EPERM to each, whatever it is. Were there no answer, the call would
 * wait; were there nobody to give one, it would be ENOSYS: in no case does it happen.
 */
#ifndef CHILD_INIT_OBSERVE_H
#define CHILD_INIT_OBSERVE_H

#include "common/denial.h"
#include "init.h"

/* What one workload asks and was refused. */
struct observed {
	int listener; /* -1: there is none */
	bool is_over; /* nobody is left to ask */
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

/* What was refused until now. */
void observe_report(const struct observed *observed, struct ipc_spawn_done *done);

#endif
