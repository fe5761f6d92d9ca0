/* SPDX-License-Identifier: Apache-2.0
 *
 * A persistent sandbox as text: a line of a table, or JSON.
 */
#ifndef CLI_SHOW_SANDBOX_TEXT_H
#define CLI_SHOW_SANDBOX_TEXT_H

#include <stdbool.h>

#include "common/limits.h"
#include "show/rows.h"

struct ipc_sandbox_info;

/* "cold", "live", "running 2", "elsewhere" or "damaged". */
const char *sandbox_state(const struct ipc_sandbox_info *info, char text[IPC_NAME_MAX]);

void sandbox_write(struct json_writer *json, const struct ipc_sandbox_info *info);

/* Sandboxes in the order of their answers; all-zero: none. */
struct sandbox_list {
	size_t count, room;
	struct ipc_sandbox_info *infos;
};

void sandbox_list_add(struct sandbox_list *list, const struct ipc_sandbox_info *info);

/* Print the list as new rows; in a table, the last used sandbox first. 0 or -errno. */
int sandbox_list_print(struct sandbox_list *list, struct rows *rows, bool has_owner);

#endif
