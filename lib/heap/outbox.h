/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages to a peer that may not read for a while: a program that waited for it could not be
 * waited for by it.
 */
#ifndef LIB_HEAP_OUTBOX_H
#define LIB_HEAP_OUTBOX_H

#include <stdbool.h>

#include "common/ipc/channel.h"

/* The messages that wait at most. Each connection has two, and a peer that reads none of so many
 * does not run. */
#define OUTBOX_MAX 65536U

struct outbox_message;

struct outbox {
	const struct channel *channel;
	uint32_t count;
	struct outbox_message *first, *last;
};

/* Send a message without descriptors now, or after those that wait. 0 or -errno. */
int outbox_send(struct outbox *outbox, uint32_t type, const void *message);

/* Send what can be sent now. 0 or -errno. */
int outbox_flush(struct outbox *outbox);

#endif
