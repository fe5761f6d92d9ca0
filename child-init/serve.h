/* SPDX-License-Identifier: Apache-2.0
 *
 * An init's life after its set-up: runs workloads on request, reaps, reports.
 *
 * An execution ends with its first process; what that leaves behind is killed, by whom depends:
 *
 * A sandbox that ends with its one execution: the init kills all there is, and reports when it is
 * reaped. The supervisor then ends the init.
 *
 * One that lasts has SANDBOX_EXECUTIONS_MAX executions at once, told apart by their slots. The
 * report comes when the first process has ended, with what that used. With cgroups the supervisor
 * kills what is left, by cgroup.kill of the execution's leaf, right after the report, and the init
 * reaps it. Without them nothing tells whose a process is whose parent has ended: the init kills
 * all that is left when no execution runs any more. A spawn_kill ends what can be told by its
 * parents, or everything when it is the only execution; the limits of the fallback are the
 * sandbox's, and beyond them all executions end.
 */
#ifndef CHILD_INIT_SERVE_H
#define CHILD_INIT_SERVE_H

#include "init.h"

/* Serve the channel; the end of the channel is the end of the process, and with it, PID 1, of
 * every process in the sandbox. */
void serve_run(const struct init *own) __attribute__((noreturn));

#endif
