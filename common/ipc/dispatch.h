/* SPDX-License-Identifier: Apache-2.0
 *
 * One message from a channel to its handler.
 */
#ifndef COMMON_IPC_DISPATCH_H
#define COMMON_IPC_DISPATCH_H

#include "common/ipc/channel.h"

/* Reads the message, may take descriptors from it, returns 0 or -errno: an error ends the
 * channel. */
typedef int (*dispatch_handler)(void *context, struct channel_message *message);

/*
 * Receive one message into `message` and hand it to its type's handler. Returns 1 when that went
 * well; 0 when the peer is gone; -EAGAIN with MSG_DONTWAIT and nothing there; else -errno, with
 * *ret_error set when the peer broke the protocol. A type without a handler is a breach.
 */
int dispatch_one(const struct channel *channel, struct channel_message *message, int flags,
		 const dispatch_handler handlers[IPC_TYPE_COUNT], void *context,
		 enum ipc_error *ret_error);

/* Define a handler that is one call; `from` is its message. */
#define DISPATCH_CALL(handler, call)                                                               \
	static int handler(void *context, struct channel_message *from)                            \
	{                                                                                          \
		return call;                                                                       \
	}

#endif
