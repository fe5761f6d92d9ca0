/* SPDX-License-Identifier: Apache-2.0
 *
 * The bridges of a supervisor, in its path opener: each is recorded in the audit log before its
 * msp-bridge is let into the sandbox, and when it has ended.
 */
#ifndef LAUNCHER_OPENER_BRIDGE_HUB_H
#define LAUNCHER_OPENER_BRIDGE_HUB_H

#include <poll.h>
#include <stddef.h>

#include "common/ipc/channel.h"

/* Bridges of one supervisor at once. */
#define BRIDGES_MAX 64

/* Begin without a bridge. `audit`: the supervisor's end of msp-audit's channel, -1: nothing is
 * recorded. */
void bridge_hub_begin(int audit);

/* Handle bridge_give: record the bridge and let its msp-bridge in. Without a record, or room for
 * it, its channel is closed. Returns 0. */
int bridge_hub_take(void *context, struct channel_message *message);

/* Handle bridge_show: tell of the bridges, or close one. Returns 0. */
int bridge_hub_show(void *context, struct channel_message *message);

/* Fill in what its bridges wait for: BRIDGES_MAX entries. */
void bridge_hub_poll(struct pollfd *entries);

/* Record the ends of those that have ended. */
void bridge_hub_turn(const struct pollfd *entries);

/* Close all of them, at the own end. */
void bridge_hub_end(void);

#endif
