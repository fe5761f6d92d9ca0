/* SPDX-License-Identifier: Apache-2.0
 *
 * Bridges: ports of the host that lead into sandboxes. The supervisor lets an msp-bridge into a
 * sandbox, and neither makes a connection nor sees a byte of one.
 */
#ifndef SUPERVISOR_FRONT_HANDLERS_BRIDGE_H
#define SUPERVISOR_FRONT_HANDLERS_BRIDGE_H

#include "common/channel.h"

/* Handle messages of a frontend, the context. */
int handle_bridge_start(void *context, struct channel_message *message);
int handle_bridge_look(void *context, struct channel_message *message);

#endif
