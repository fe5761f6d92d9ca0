/* SPDX-License-Identifier: Apache-2.0
 *
 * The tasks extension of the modern era (io.modelcontextprotocol/tasks): a call whose client said
 * that it polls is answered with a task at once, and carried on without the client. A task is its
 * principal's; its result is kept for TASK_KEPT_MS after its end.
 */
#ifndef BROKER_MCP_TASKS_H
#define BROKER_MCP_TASKS_H

#include "mcp/call.h"

#define TASKS_PER_PRINCIPAL_MAX 256U
#define TASK_KEPT_MS ((int64_t)60 * 60 * 1000)
#define TASK_POLL_MS 500
#define TASK_ID_ROOM 64

/*
 * Answer the call's request with a task and carry the call on: whoever works on it goes on as
 * before, but there is no progress to be said any more. `id` is copied; NULL: a random one. True
 * also when it is a task already. False, and nothing done: its client did not declare the
 * extension, or there is no room, so answer it as any other call.
 */
bool call_become_task(struct call *call, const char *id);

/* The methods. */
void tasks_get(const struct request *request);
void tasks_update(const struct request *request);
void tasks_cancel(const struct request *request);

/* For calls: one has questions now, or is over. */
void task_touch(struct task *task);
void task_lose_call(struct task *task);

/* For subscriptions: the task of this principal with this id, NULL for none; is it this one; and
 * what tasks/get says of it, into an open object. */
bool task_is(const struct task *task, uint32_t principal, const char *id, size_t size);
struct task *tasks_find(struct host *host, uint32_t principal, const char *id, size_t size);
void task_put(struct json_writer *writer, const struct task *task);

/* Forget what was kept for long enough by `now_ms`. */
void tasks_expire(struct host *host, int64_t now_ms);

/* End all of them. */
void tasks_done(struct host *host);

#endif
