/* SPDX-License-Identifier: Apache-2.0
 *
 * A persistent sandbox as text: a line of a table, or JSON.
 */
#ifndef CLI_SHOW_SANDBOX_TEXT_H
#define CLI_SHOW_SANDBOX_TEXT_H

#include <stdbool.h>

#include "common/limits.h"
#include "show/json.h"

struct ipc_sandbox_info;

/* "cold", "live", "running 2", "elsewhere" or "damaged". */
const char *sandbox_state(const struct ipc_sandbox_info *info, char text[IPC_NAME_MAX]);

void sandbox_write(struct json_writer *json, const struct ipc_sandbox_info *info);

/* Lines of a table, which is printed when all of them are known. */
struct sandbox_table;

struct sandbox_table *sandbox_table_new(bool has_owner);
void sandbox_table_add(struct sandbox_table *table, const struct ipc_sandbox_info *info);

/* Print the table, the last used sandbox first, and free it. */
void sandbox_table_print(struct sandbox_table *table, uint64_t now_s);

#endif
