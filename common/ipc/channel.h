/* SPDX-License-Identifier: Apache-2.0
 *
 * One end of a SOCK_SEQPACKET socketpair between two of our processes. Checks, in this order:
 * nothing truncated, decodes, direction, phase, number and kind of descriptors. What fails a check
 * is never handed on: its descriptors are closed and the caller ends the channel.
 *
 * There is no send queue beside the socket's own buffer: a peer that does not read until that is
 * full has broken the protocol (-EAGAIN).
 */
#ifndef COMMON_IPC_CHANNEL_H
#define COMMON_IPC_CHANNEL_H

#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc.h"

struct channel {
	int fd;
	enum ipc_role self;
	enum ipc_role peer;
	enum ipc_phase phase;
};

/* The alignment that every message's struct may need. */
#define IPC_BODY_ALIGN 8

/* A received message. The receiver owns the descriptors; channel_take_fd() takes one. */
struct channel_message {
	uint32_t type;
	uint32_t fd_count;
	int fds[IPC_FDS_MAX];
	_Alignas(IPC_BODY_ALIGN) uint8_t body[IPC_BODY_MAX]; /* the type's struct */
};

/*
 * Return the struct of a message of type IPC_TYPE_name: a const struct ipc_name *. Its header is
 * one of ipc_*.h. A message of another type is an impossible state.
 */
#define ipc_body(message, name) ((const struct ipc_##name *)ipc_body_of((message), IPC_TYPE_##name))

/* Return the struct, as ipc_body() does, of a message that may be changed. */
#define ipc_body_mutable(message, name)                                                            \
	((struct ipc_##name *)ipc_body_mutable_of((message), IPC_TYPE_##name))

static inline const void *ipc_body_of(const struct channel_message *message, uint32_t type)
{
	if (message->type != type)
		abort();
	return message->body;
}

static inline void *ipc_body_mutable_of(struct channel_message *message, uint32_t type)
{
	if (message->type != type)
		abort();
	return message->body;
}

/* Return the number of a frontend's request, with which the struct of each begins. */
static inline uint64_t ipc_request(const struct channel_message *message)
{
	uint64_t request;

	memcpy(&request, message->body, sizeof(request));
	return request;
}

/* Return the slot with which the struct of a message to an init or about a started child begins. */
static inline uint32_t ipc_slot(const struct channel_message *message)
{
	uint32_t slot;

	memcpy(&slot, message->body, sizeof(slot));
	return slot;
}

/* Make a pair with close-on-exec and the largest buffers the system allows; 0 or -errno. */
int channel_pair(int ret_fds[2]);

/*
 * Send `type` with its struct; `fds` holds as many descriptors as the type's row says and stays
 * the caller's. `flags`: 0 or MSG_DONTWAIT. 0, or -errno; -EPROTO when the table forbids it.
 */
int channel_send(const struct channel *channel, uint32_t type, const void *message, const int *fds,
		 int flags);

/*
 * Receive one message. Returns 1 and fills *ret; 0 when the peer is gone; -errno from the system
 * (-EAGAIN with MSG_DONTWAIT and nothing there); -EPROTO with *ret_error set when the peer broke
 * the protocol; -EMFILE when this process had no room for the descriptors of an otherwise right
 * message: *ret has its type and body, and none of them.
 */
int channel_receive(const struct channel *channel, struct channel_message *ret, int flags,
		    enum ipc_error *ret_error);

/* The message's descriptor number `index`, the caller's from now on. */
int channel_take_fd(struct channel_message *message, unsigned int index);

/* Give back the memory that messages of this process pass through, until the next one. */
void channel_rest(void);

/* Close what is left of a message's descriptors. */
void channel_message_done(struct channel_message *message);

#endif
