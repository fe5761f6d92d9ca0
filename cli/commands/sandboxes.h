/* SPDX-License-Identifier: Apache-2.0
 *
 * The acts about persistent sandboxes that are options or actions of other commands.
 */
#ifndef CLI_COMMANDS_SANDBOXES_H
#define CLI_COMMANDS_SANDBOXES_H

#include <stdbool.h>
#include <stdint.h>

struct attach_options;
struct ipc_sandbox_info;

/* Ask for the sandboxes of a person, or of everybody. 0, or the exit code after a line. */
int sandboxes_each(const struct attach_options *options, bool is_everybody,
		   void (*on_sandbox)(void *context, const struct ipc_sandbox_info *info),
		   void *context);

/* Print the open bridges. The exit code. */
int bridges_list(const struct attach_options *attach, bool is_json);

/* Close the bridge with this port of this machine, and wait for its end. The exit code. */
int bridges_close(const struct attach_options *attach, uint32_t host_port);

#endif
