/* SPDX-License-Identifier: Apache-2.0
 *
 * Foreign files of a new sandbox's workspace: those of another owner or group.
 */
#ifndef CLI_COMMANDS_FOREIGN_H
#define CLI_COMMANDS_FOREIGN_H

#include "ask/ask.h"
#include "show/json.h"

/* Have them prepared, and print lines about those that stay unchangeable. A failure leaves the
 * sandbox usable: it is only printed. `act`: as in struct question. Returns 0, or the exit code
 * when the supervisor has gone. */
int foreign_prepare(struct asking *asking, const struct ipc_sandbox_info *info, const char *act);

/* Write what foreign_prepare() found as the member "foreign". */
void foreign_write(struct json_writer *writer, const struct ipc_changes_done *done);

#endif
