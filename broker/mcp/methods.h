/* SPDX-License-Identifier: Apache-2.0
 *
 * The methods that a client may call, one row each.
 */
#ifndef BROKER_MCP_METHODS_H
#define BROKER_MCP_METHODS_H

#include "mcp/session.h"
#include "json/read.h"

/* Dispatch one message; if it is a request, answer it through `exchange`. */
void methods_take(struct session *session, struct exchange *exchange, bool is_batched,
		  const struct json_document *document, struct json_value *value);

#endif
