/* SPDX-License-Identifier: Apache-2.0
 *
 * Which checkpoint an argument means: its number, or its name.
 */
#ifndef BROKER_MCP_CHECKPOINTS_H
#define BROKER_MCP_CHECKPOINTS_H

#include "common/ipc.h"
#include "mcp/call.h"

/* A checked value (NULL: not given, and nothing is set): a text of digits is a number, anything
 * else the name `ret_name`. False: it can be none, and the call has failed. */
bool checkpoints_take(struct call *call, const struct json_value *value, uint32_t *ret_number,
		      char ret_name[IPC_NAME_MAX]);

#define CHECKPOINT_TEXT "Number or name of a checkpoint, as \"list\" shows it."

#endif
