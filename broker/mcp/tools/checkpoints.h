/* SPDX-License-Identifier: Apache-2.0
 *
 * The checkpoint that an argument names: by its number, or its name.
 */
#ifndef BROKER_MCP_TOOLS_CHECKPOINTS_H
#define BROKER_MCP_TOOLS_CHECKPOINTS_H

#include "common/limits.h"
#include "mcp/core/call.h"

/* Read a checked value (NULL: not given, and nothing is set): a text of digits is a number, any
 * other the name `ret_name`. False: it is neither, and the call has failed. */
bool checkpoints_take(struct call *call, const struct json_value *value, uint32_t *ret_number,
		      char ret_name[IPC_NAME_MAX]);

#endif
