/* SPDX-License-Identifier: Apache-2.0
 *
 * The way back to a client for what belongs to one message of it: the answer, and what is said
 * before the answer. A transport makes one for each message, or one for all of them.
 */
#ifndef BROKER_MCP_EXCHANGE_H
#define BROKER_MCP_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "io/buffer.h"

struct exchange;

struct exchange_kind {
	/* A notification, or a request of ours, that belongs to a request of the client. */
	void (*say)(struct exchange *exchange, const struct buffer *message);
	/* The answer to one of its requests; `code` is the error's, 0: it is a result. */
	void (*answer)(struct exchange *exchange, const struct buffer *answer, int code);
	/* Nothing is open any more: nothing of the exchange is used after this. */
	void (*done)(struct exchange *exchange);
};

struct exchange {
	const struct exchange_kind *kind;
	uint32_t open; /* who will use it again: its maker, and each call in flight */
	/* Does so much wait to be sent that what can be said later should be? The transport may
	 * set it after exchange_init(); NULL: never. */
	bool (*is_behind)(const struct exchange *exchange);
};

/* Start with one hold, the maker's. */
void exchange_init(struct exchange *exchange, const struct exchange_kind *kind);

void exchange_hold(struct exchange *exchange);
void exchange_release(struct exchange *exchange);

bool exchange_is_behind(const struct exchange *exchange);

/* Neither ends a session or a call: a way back that is found broken is given up later. */
void exchange_say(struct exchange *exchange, const struct buffer *message);
void exchange_answer(struct exchange *exchange, const struct buffer *answer, int code);

/* A batch: its answers go through `inner` as one array, when the last of its calls is over. */
struct exchange *exchange_new_batch(struct exchange *inner);

#endif
