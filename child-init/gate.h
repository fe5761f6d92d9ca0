/* SPDX-License-Identifier: Apache-2.0
 *
 * The gate of an interpreter that is started before its code is there. The init traces it and lets
 * it pass each system call that only looks at what nothing in the sandbox can change. Before any
 * other call it stays: before it opens a file that a workload left, writes, forks, executes or
 * talks to somebody. So nothing that a workload left has a part in its start, and with its request
 * it goes on as if it had never been held up.
 */
#ifndef CHILD_INIT_GATE_H
#define CHILD_INIT_GATE_H

#include <stdbool.h>
#include <sys/types.h>

/* Processor time of a start, seconds; python takes 0.02. */
#define GATE_CPU_S 2

/* In the new process, on memory that it shares with the init: be traced by that from the exec of
 * `program` on, with that limit. Returns 0; -EACCES when a workload could have changed the program;
 * else -errno. */
int gate_enter(char *program);

/* In the init, for a `status` of wait4(2) that says that the process stopped: let it pass, or stay.
 * Returns false when it is to be killed: a signal stopped it, which may be the one of its limit, or
 * it cannot be traced. */
bool gate_step(pid_t pid, int status);

/* Give it back the limit that it had, and let it go; where it runs just now gate_release() does
 * when it stops next. Returns false when it is to be killed. */
bool gate_open(pid_t pid);

/* Let a process go that stopped so and is held up by no gate. */
void gate_release(pid_t pid, int status);

#endif
