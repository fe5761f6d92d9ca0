/* SPDX-License-Identifier: Apache-2.0
 *
 * A tools/call in flight: from checked arguments to its answer.
 */
#ifndef BROKER_MCP_CALL_H
#define BROKER_MCP_CALL_H

#include "mcp/message.h"
#include "mcp/result.h"
#include "mcp/session.h"
#include "mcp/tools.h"

struct call {
	struct call *next;
	struct session *session;
	struct batch *batch;
	struct rpc_id id;
	enum era era;
	struct execution *execution;
	struct result_label label;
};

/* A new call of `session`; takes `id`. */
struct call *call_new(struct session *session, struct batch *batch, struct rpc_id *id,
		      enum era era);

/* End it without an answer. */
void call_drop(struct call *call);

/* The call in flight with this id; NULL: none. */
struct call *call_find(struct session *session, const struct rpc_id *id);

/* Kill its execution; it is never answered. */
void call_cancel(struct call *call);

/* Answer that nothing ran, and why; ends the call. */
void call_fail(struct call *call, const struct buffer *problem);

/* Start an execution; the call is answered when it ends, or at once when it cannot start. */
void call_execute(struct call *call, struct execution_order *order);

#endif
