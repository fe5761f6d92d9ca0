/* SPDX-License-Identifier: Apache-2.0
 *
 * One end of a SOCK_SEQPACKET socketpair between two of our processes. Checks, in this order:
 * nothing truncated, decodes, direction, phase, number and kind of descriptors. What fails a check
 * is never handed on: its descriptors are closed and the caller ends the channel.
 *
 * There is no send queue beside the socket's own buffer: a peer that does not read until that is
 * full has broken the protocol (-EAGAIN).
 */
#ifndef COMMON_CHANNEL_H
#define COMMON_CHANNEL_H

#include "common/ipc.h"

struct channel {
	int fd;
	enum ipc_role self;
	enum ipc_role peer;
	enum ipc_phase phase;
};

/* A received message. The receiver owns the descriptors; channel_take_fd() takes one. */
struct channel_message {
	uint32_t type;
	uint32_t fd_count;
	int fds[IPC_FDS_MAX];
	union ipc_any body;
};

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
