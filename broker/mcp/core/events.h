/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: the only calls upward in this room. A low file reports here what happened, and a higher
 * one, which is named at each event, acts on it. Every other call goes downward
 * (tests/meta/graph.py).
 */
#ifndef BROKER_MCP_CORE_EVENTS_H
#define BROKER_MCP_CORE_EVENTS_H

#include "lib/json/read.h"
#include "mcp/core/session.h"

struct ask;
struct call;
struct task;

/* A session has received a message: dispatch it, and if it is a request, answer it through
 * `exchange` (methods.c). */
void event_message(struct session *session, struct exchange *exchange, bool is_batched,
		   const struct json_document *document, struct json_value *value);

/* A legacy session ends: forget its subscriptions (subscriptions.c). */
void event_session_over(struct session *session);

/* A call is freed: withdraw its open questions and free the rest of them. Returns NULL (ask.c). */
struct ask *event_call_freed(struct call *call);

/* A task loses its call, which is over (tasks.c). */
void event_call_over(struct task *task);

/* The answer to tasks/get has changed, for example because the task has questions now (tasks.c). */
void event_task_changed(struct task *task);

#endif
