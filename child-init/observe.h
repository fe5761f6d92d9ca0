/* SPDX-License-Identifier: Apache-2.0
 *
 * What a workload is refused by its filter, counted. The filter decides; what it refuses it asks
 * the init about, which answers EPERM to each, whatever it is. Were there no answer, the call would
 * wait; were there nobody to give one, it would be ENOSYS: in no case does it happen.
 */
#ifndef CHILD_INIT_OBSERVE_H
#define CHILD_INIT_OBSERVE_H

#include "init.h"

/* Observe a new workload: forget what was counted, and answer for this listener (-1: there is
 * none). Takes the descriptor. */
void observe_begin(int listener);

/* The listener, to be polled for POLLIN; -1: there is none. */
int observe_fd(void);

/* After a poll that gave it these `revents`: answer one call, if there is one. */
void observe_answer(const struct init *init, short revents);

/* What was refused until now. */
void observe_report(struct ipc_spawn_done *done);

#endif
