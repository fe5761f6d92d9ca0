/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of the frontends' requests and of the factory's answers.
 */
#ifndef SUPERVISOR_FRONT_HANDLERS_H
#define SUPERVISOR_FRONT_HANDLERS_H

#include "common/ipc/channel.h"
#include "front/frontend.h"

/* Put together the welcome message. */
void handlers_prepare(void);

/* Handle messages of a frontend, the context: about persistent sandboxes, their checkpoints and
 * network, and the ports of the host that lead into one. */
int handle_sandbox_new(void *context, struct channel_message *message);
int handle_sandbox_end(void *context, struct channel_message *message);
int handle_checkpoint_do(void *context, struct channel_message *message);
int handle_network_watch(void *context, struct channel_message *message);
int handle_bridge_start(void *context, struct channel_message *message);
int handle_bridge_look(void *context, struct channel_message *message);

/* Tell all frontends of the policy that is in force from now on. */
void handlers_tell_policy(void);

/* A frontend has said something, or is gone: what frontend.h calls back. */
void handlers_on_frontend(void *frontend);

/* Run some of the woken deferred requests (deferred.h) again. Before sandbox_tick(), which looks at
 * the sandboxes that they used. */
void handlers_tick(void);

/* Watch the factory's channel. 0 or -errno. */
int handlers_watch_factory(void);

#endif
