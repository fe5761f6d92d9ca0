/* SPDX-License-Identifier: Apache-2.0
 *
 * The tasks extension of the modern era (io.modelcontextprotocol/tasks): a call of a client that
 * polls is answered with a task at once, and goes on without the client. A task belongs to its
 * principal; its result is kept for TASK_KEPT_MS after its end.
 */
#ifndef BROKER_MCP_ASKING_TASKS_H
#define BROKER_MCP_ASKING_TASKS_H

#include "mcp/core/call.h"

#define TASKS_PER_PRINCIPAL_MAX 256U
#define TASK_KEPT_MS ((int64_t)60 * 60 * 1000)
#define TASK_POLL_MS 500
#define TASK_ID_ROOM 64

/* Answer the call's request with a task and let the call go on: its handler continues as before,
 * without progress reports. `id` is copied; NULL: a random one. True also for a task. False: its
 * client did not declare the extension, or there is no room, so answer it as any other call. */
bool call_become_task(struct call *call, const char *id);

/* Return true if the call has become a task. */
bool call_is_task(const struct call *call);

/* Answer the methods of tasks. */
void tasks_get(const struct request *request);
void tasks_update(const struct request *request);
void tasks_cancel(const struct request *request);

/* For subscriptions: find the principal's task with this id, NULL for none; compare a task with an
 * id; write the answer to tasks/get into an open object. */
bool task_is(const struct task *task, uint32_t principal, const char *id, size_t size);
struct task *tasks_find(struct host *host, uint32_t principal, const char *id, size_t size);
void task_put(struct json_writer *writer, const struct task *task);

/* End all tasks. */
void tasks_done(struct host *host);

#endif
