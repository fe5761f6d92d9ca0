/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests about persistent sandboxes: to make one, to end one, their checkpoints, and their
 * network.
 */
#ifndef SUPERVISOR_FRONT_HANDLERS_PERSISTENT_H
#define SUPERVISOR_FRONT_HANDLERS_PERSISTENT_H

#include "common/dispatch.h"

/* The context is the frontend. */
int handle_sandbox_new(void *context, struct channel_message *message);
int handle_sandbox_end(void *context, struct channel_message *message);
int handle_checkpoint_do(void *context, struct channel_message *message);
int handle_network_watch(void *context, struct channel_message *message);

#endif
