/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of `msp ps` about commands without a keeper: those that wait in front of a person, and
 * those of MCP clients.
 */
#ifndef CLI_COMMANDS_PS_OTHERS_H
#define CLI_COMMANDS_PS_OTHERS_H

#include <stddef.h>

struct background;
struct ipc_sandbox_info;

/* Find them in the audit log and in the sandboxes' histories. `known` are the background commands
 * that run; `take` gets each other one, without an id, and with an empty command where nothing is
 * known of it. */
void ps_find_others(const struct ipc_sandbox_info *sandboxes, size_t sandbox_count,
		    const struct background *known, size_t known_count,
		    void (*take)(void *context, const struct background *command), void *context);

#endif
