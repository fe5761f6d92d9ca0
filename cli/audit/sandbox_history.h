/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of a persistent sandbox's executions, from the history in its directory
 * (common/records/history.h).
 */
#ifndef CLI_AUDIT_SANDBOX_HISTORY_H
#define CLI_AUDIT_SANDBOX_HISTORY_H

#include <stdint.h>

#include "common/limits.h"

struct buffer;
struct history_note;

/* Read the history of the sandbox `id`; `audit` is the audit log's directory, which is beside the
 * sandboxes' and stays the caller's. A sandbox without one has no commands to show. */
void sandbox_history_open(int audit, const char id[IPC_ID_MAX]);

/* Find an execution by its supervisor, its number and about its time, in what is there now. NULL:
 * the history has it not, or no longer. Valid until the next call. */
const struct history_note *sandbox_history_find(uint64_t pid, uint64_t execution, uint64_t time_us);

/* Print a command on stdout, as a shell would take it, or the first line of a code, without
 * anything that a terminal obeys. */
void sandbox_history_print(const struct history_note *note);

/* Append the members "argv" and, where there is one, "code" of a JSON object: what the history has
 * of them, on one line, and also without anything that a terminal obeys. */
void sandbox_history_put(const struct history_note *note, struct buffer *out);

#endif
