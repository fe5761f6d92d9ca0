/* SPDX-License-Identifier: Apache-2.0
 *
 * The peers of msp-egress and msp-dial: msp-cable and each other. All three end together.
 */
#ifndef STEWARDS_BASE_PEER_H
#define STEWARDS_BASE_PEER_H

#include <stdbool.h>

#include "common/ipc/channel.h"
#include "common/ipc/dispatch.h"

/* Take messages of a peer, so many at most that the others need not wait for long. The end of the
 * peer ends the process without a word; a breach of the protocol ends it with `name`. Return
 * whether none is left. */
bool peer_turn(const struct channel *peer, struct channel_message *message,
	       const dispatch_handler handlers[IPC_TYPE_COUNT], const char *name);

/* Go on if a message was sent. If the peer has ended, end without a word; after another -errno end
 * with `problem`. */
void peer_require(int error, const char *problem);

#endif
