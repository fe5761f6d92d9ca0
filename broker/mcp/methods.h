/* SPDX-License-Identifier: Apache-2.0
 *
 * The way in for a client's messages: each is read and dispatched to its method.
 */
#ifndef BROKER_MCP_METHODS_H
#define BROKER_MCP_METHODS_H

#include "lib/json/read.h"
#include "mcp/core/session.h"

/* Take the text of one message, or of a batch; it is written to. Empty text is ignored. A request
 * is answered through `exchange`, which stays the caller's. */
void methods_take_text(struct session *session, struct exchange *exchange, char *text, size_t size);

/* Take a document that was read already; `error` is json_read()'s result. */
void methods_take_document(struct session *session, struct exchange *exchange,
			   const struct json_document *document, enum json_error error);

/* Refuse a text beyond LINE_BYTES_MAX, which was thrown away. */
void methods_refuse_long(struct exchange *exchange);

#endif
