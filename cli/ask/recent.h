/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandboxes that `msp run --workspace` has kept, newest last: the file `runs` of the state
 * directory, one id in a line. -1 names the newest one. A name could not say it: an agent chooses
 * the names of its sandboxes, and no sandbox can write this file.
 */
#ifndef CLI_ASK_RECENT_H
#define CLI_ASK_RECENT_H

#include "common/limits.h"

/* Remember the sandbox of a run. 0 or -errno. */
int recent_add(const char *id);

/* Forget a sandbox; no error if it is not there. 0 or -errno. */
int recent_drop(const char *id);

/* Replace "-1", "-2", ... by the id that it means; leave any other word. 0, or the exit code after
 * a line on stderr. */
int recent_resolve(char sandbox[IPC_NAME_MAX]);

#endif
