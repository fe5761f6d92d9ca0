/* SPDX-License-Identifier: Apache-2.0
 *
 * The command about persistent sandboxes that is an action of `msp network`.
 */
#ifndef CLI_COMMANDS_SANDBOXES_H
#define CLI_COMMANDS_SANDBOXES_H

#include "launch/attach.h"

/* Print the connections of a sandbox and its last refusals. The exit code. */
int network_list(const struct attach_options *attach, const char *name);

#endif
