/* SPDX-License-Identifier: Apache-2.0
 *
 * The holder of a persistent sandbox: the process of msp whose supervisor has it, so that no other
 * one can use it meanwhile. The kernel's list of locks names the store's process, and that is the
 * holder's child.
 */
#ifndef LAUNCHER_HOST_HOLDER_H
#define LAUNCHER_HOST_HOLDER_H

#include "common/limits.h"

#define HOLDER_TEXT_MAX 200

/* Put the holder of the sandbox `id` in words, with a remedy for the user, who calls the sandbox
 * `word`. Returns `ret`, or NULL: no holder can be found. */
const char *holder_describe(const char *id, const char *word, char ret[HOLDER_TEXT_MAX]);

/* End the holder, if it runs one command in the sandbox and serves nobody else, and wait for that.
 * 0; -ESRCH: there is no such holder; another -errno, as of process_end(). */
int holder_end(const char *id);

#endif
