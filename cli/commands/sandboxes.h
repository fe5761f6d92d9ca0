/* SPDX-License-Identifier: Apache-2.0
 *
 * The acts about persistent sandboxes that are options or actions of other commands.
 */
#ifndef CLI_COMMANDS_SANDBOXES_H
#define CLI_COMMANDS_SANDBOXES_H

#include <stdbool.h>
#include <stdint.h>

struct attach_options;

/* Call `take` for each sandbox of a person, or of everybody; `name` may be empty. The exit code. */
typedef void sandbox_take(void *context, const char *id, const char *name, const char *profile);
int sandboxes_each(const char *config, bool is_everybody, sandbox_take *take, void *context);

/* Print the open bridges. The exit code. */
int bridges_list(const struct attach_options *attach, bool is_json);

/* Close the bridge with this port of this machine, and wait for its end. The exit code. */
int bridges_close(const struct attach_options *attach, uint32_t host_port);

#endif
