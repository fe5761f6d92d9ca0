/* SPDX-License-Identifier: Apache-2.0
 *
 * The way back to a client for one message: its answer, and the messages before the answer. A
 * transport makes one for each message, or one for all of them.
 */
#ifndef BROKER_MCP_CORE_EXCHANGE_H
#define BROKER_MCP_CORE_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/heap/buffer.h"
#include "mcp/core/message.h"

struct exchange;

struct exchange_kind {
	/* Send a notification, or a request of ours, that belongs to a request of the client. */
	void (*say)(struct exchange *exchange, const struct buffer *message);
	/* Send the answer to one of its requests; `code` is the error's, 0 for a result. */
	void (*answer)(struct exchange *exchange, const struct buffer *answer, int code);
	/* The last user has left: the exchange is not used after this. NULL: its maker never does.
	 */
	void (*done)(struct exchange *exchange);
	/* Return true if so much waits to be sent that optional messages should wait; NULL: never.
	 */
	bool (*is_behind)(const struct exchange *exchange);
};

struct exchange {
	const struct exchange_kind *kind;
	uint32_t open; /* users that remain: its maker, and each call in flight */
};

/* Start with one reference, the maker's. */
void exchange_init(struct exchange *exchange, const struct exchange_kind *kind);

void exchange_hold(struct exchange *exchange);
void exchange_release(struct exchange *exchange);

bool exchange_is_behind(const struct exchange *exchange);

/* Send, without ending a session or a call: a broken exchange is given up later. */
void exchange_say(struct exchange *exchange, const struct buffer *message);
void exchange_answer(struct exchange *exchange, const struct buffer *answer, int code);

/* Close a notification that was written, send it and free its line. */
void exchange_close(struct exchange *exchange, struct json_writer *writer);

/* Answer with an error, as message_put_error() writes it. */
void exchange_refuse(struct exchange *exchange, const struct rpc_id *id, enum rpc_code code,
		     const char *text, const struct buffer *data);

/* Make a batch: its answers go through `inner` as one array, when the last of its calls is over. */
struct exchange *exchange_new_batch(struct exchange *inner);

#endif
