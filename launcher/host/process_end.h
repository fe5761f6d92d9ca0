/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of another process of msp, which a lock names.
 */
#ifndef LAUNCHER_HOST_PROCESS_END_H
#define LAUNCHER_HOST_PROCESS_END_H

#include <sys/types.h>

#define PROCESS_END_FOREVER (-1)

/* Send SIGTERM to the process that `find` names, also if it is stopped, and wait for its end for so
 * many milliseconds. `find` looks at the lock, twice: the second look shows that the descriptor is
 * of the process that held it at the first. 0; -ESRCH: `find` names none (0) or another one by
 * then; -ETIME: it has not ended; another -errno. */
int process_end(pid_t (*find)(const void *context), const void *context, int wait_ms);

#endif
