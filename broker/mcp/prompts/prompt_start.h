/* SPDX-License-Identifier: Apache-2.0
 *
 * Prompts that help people to begin: uses of ephemeral sandboxes.
 */
#ifndef BROKER_MCP_PROMPTS_PROMPT_START_H
#define BROKER_MCP_PROMPTS_PROMPT_START_H

#include "mcp/prompts/prompts.h"

extern const struct prompt prompt_try_code;
extern const struct prompt prompt_compare_commands;
extern const struct prompt prompt_explore_sandbox;

#endif
