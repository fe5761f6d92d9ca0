/* SPDX-License-Identifier: Apache-2.0
 *
 * A task is an exchange of its own, which keeps the call's answer, in a session of its own: the
 * request's session may end before the call.
 */
#include "mcp/asking/tasks.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "io/clock.h"
#include "io/random_id.h"
#include "lib/heap/chain.h"
#include "lib/heap/memory.h"
#include "mcp/asking/ask.h"
#include "mcp/core/session.h"

enum task_status {
	TASK_WORKING,
	TASK_INPUT_REQUIRED,
	TASK_COMPLETED,
	TASK_FAILED,
	TASK_CANCELLED,
};

static const char *const status_names[] = {
	[TASK_WORKING] = "working",     [TASK_INPUT_REQUIRED] = "input_required",
	[TASK_COMPLETED] = "completed", [TASK_FAILED] = "failed",
	[TASK_CANCELLED] = "cancelled",
};

struct task {
	struct exchange exchange; /* first: struct task and its exchange have one address */
	struct session session;
	struct task *next;
	char id[TASK_ID_ROOM];
	struct call *call; /* NULL: it is over */
	enum task_status status;
	struct buffer outcome; /* the result, or the error if it failed */
	int64_t created_date_ms;
	int64_t updated_date_ms;
	int64_t created_ms;
	int64_t over_ms;
};

/* Frames of the answer to a request without an id, as of a call that became a task. */
static const char result_frame[] = "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":";
static const char error_frame[] = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":";

static void keep_nothing(struct exchange *exchange, const struct buffer *message)
{
}

static void keep_answer(struct exchange *exchange, const struct buffer *answer, int code)
{
	struct task *task = (struct task *)exchange;
	const char *frame = code ? error_frame : result_frame;
	const size_t size = strlen(frame);

	if (answer->size <= size || memcmp(answer->bytes, frame, size) != 0)
		bug("an answer of a task without its frame");
	task->status = code ? TASK_FAILED : TASK_COMPLETED;
	buffer_append(&task->outcome, answer->bytes + size, answer->size - size - 1);
}

/* Report a change of the answer to tasks/get. */
static void report_change(struct task *task)
{
	struct host *host = task->session.host;
	const int64_t now = clock_date_ms();

	if (now > task->updated_date_ms) /* the time of day may be set back */
		task->updated_date_ms = now;
	if (host->task_updated)
		host->task_updated(host, task);
}

static void note_questions(struct call *call)
{
	report_change((struct task *)call->exchange);
}

/* Take the end of the call. The table frees its task later. */
static void note_end(struct exchange *exchange)
{
	struct task *task = (struct task *)exchange;

	task->call = NULL;
	task->over_ms = clock_steady_ms();
	if (task->status == TASK_WORKING)
		task->status = TASK_CANCELLED;
	report_change(task);
}

static const struct exchange_kind kind = { keep_nothing, keep_answer, note_end, NULL };

static void free_task(struct host *host, struct task *task)
{
	session_done(&task->session);
	CHAIN_REMOVE(host->tasks, task, next);
	buffer_done(&task->outcome);
	free(task);
}

/* Remove the tasks whose time to be kept ended by `now_ms`. */
static void tasks_expire(struct host *host, int64_t now_ms)
{
	struct task *next;

	for (struct task *task = host->tasks; task; task = next) {
		next = task->next;
		if (!task->call && now_ms - task->over_ms > TASK_KEPT_MS)
			free_task(host, task);
	}
}

void tasks_done(struct host *host)
{
	while (host->tasks)
		free_task(host, host->tasks);
}

bool task_is(const struct task *task, uint32_t principal, const char *id, size_t size)
{
	return task->session.principal == principal && strlen(task->id) == size &&
	       sodium_memcmp(task->id, id, size) == 0;
}

struct task *tasks_find(struct host *host, uint32_t principal, const char *id, size_t size)
{
	struct task *task;

	tasks_expire(host, clock_steady_ms());
	task = host->tasks;
	while (task && !task_is(task, principal, id, size))
		task = task->next;
	return task;
}

/* Make room for one more task of the principal, if need be by removing the one that ended first. */
static bool make_room(struct host *host, uint32_t principal)
{
	struct task *oldest = NULL;
	unsigned int count = 0;

	tasks_expire(host, clock_steady_ms());
	for (struct task *task = host->tasks; task; task = task->next) {
		if (task->session.principal != principal)
			continue;
		count++;
		if (!task->call && (!oldest || task->over_ms <= oldest->over_ms))
			oldest = task;
	}
	if (count < TASKS_PER_PRINCIPAL_MAX)
		return true;
	if (oldest)
		free_task(host, oldest);
	return oldest != NULL;
}

static enum task_status status_of(const struct task *task)
{
	if (!task->call)
		return task->status;
	return task->call->ask && ask_is_open(task->call) ? TASK_INPUT_REQUIRED : TASK_WORKING;
}

/* Write the members of every form of a task. It is kept at least for ttlMs from its creation; while
 * it runs, ttlMs grows. */
static void put_state(struct json_writer *writer, const struct task *task)
{
	const int64_t end = task->call ? clock_steady_ms() : task->over_ms;

	json_put_text(writer, "taskId", task->id);
	json_put_text(writer, "status", status_names[status_of(task)]);
	clock_put_date(writer, "createdAt", task->created_date_ms);
	clock_put_date(writer, "lastUpdatedAt", task->updated_date_ms);
	json_put_signed(writer, "ttlMs", end - task->created_ms + TASK_KEPT_MS);
	json_put_number(writer, "pollIntervalMs", TASK_POLL_MS);
}

void task_put(struct json_writer *writer, const struct task *task)
{
	put_state(writer, task);
	switch (status_of(task)) {
	case TASK_INPUT_REQUIRED:
		ask_put_requests(writer, "inputRequests", task->call);
		break;
	case TASK_COMPLETED:
		json_put_raw(writer, "result", task->outcome.bytes, task->outcome.size);
		break;
	case TASK_FAILED:
		json_put_raw(writer, "error", task->outcome.bytes, task->outcome.size);
		break;
	case TASK_WORKING:
	case TASK_CANCELLED:
		break;
	}
}

static void answer_task(struct call *call, const struct task *task)
{
	struct answer answer;

	call_open_typed(call, &answer, "task");
	put_state(&answer.writer, task);
	call_put_answer(call, &answer);
}

bool call_is_task(const struct call *call)
{
	return call->exchange->kind == &kind;
}

bool call_become_task(struct call *call, const char *id)
{
	struct host *host = call->session->host;
	struct task *task;

	if (call_is_task(call))
		return true;
	if ((call->abilities & ABILITY_TASKS) == 0 || !make_room(host, call->session->principal))
		return false;
	task = memory_get_zeroed(1, sizeof(*task));
	exchange_init(&task->exchange, &kind);
	session_init(&task->session, host, call->session->principal, NULL);
	task->created_ms = clock_steady_ms();
	task->created_date_ms = task->updated_date_ms = clock_date_ms();
	if (!id)
		random_id_make(task->id);
	else if (strlen(id) < TASK_ID_ROOM)
		memcpy(task->id, id, strlen(id) + 1);
	else
		bug("a task with too long a name");
	task->next = host->tasks;
	host->tasks = task;
	task->call = call;
	answer_task(call, task);
	call->asked = note_questions;
	call_move(call, &task->session, &task->exchange);
	exchange_release(&task->exchange); /* the call alone holds it */
	return true;
}

/* Find the task that the request names; NULL: the request has been refused. */
static struct task *find_task(const struct request *request)
{
	struct session *session = request->session;
	struct json_value *id;
	struct task *task;

	if ((request_abilities(request) & ABILITY_TASKS) == 0) {
		request_refuse_abilities(request, ABILITY_TASKS);
		return NULL;
	}
	id = request_string(request, "taskId");
	if (!id)
		return NULL;
	task = tasks_find(session->host, session->principal, id->text, id->size);
	if (!task)
		request_refuse(request, RPC_INVALID_PARAMS,
			       "Unknown task, or one that ended more than an hour ago", id);
	return task;
}

void tasks_get(const struct request *request)
{
	const struct task *task = find_task(request);
	struct answer answer;

	if (!task)
		return;
	request_open_result(request, &answer);
	task_put(&answer.writer, task);
	request_close_result(request, &answer);
}

/* Ignore answers that no question asked for, or that come too late. */
void tasks_update(const struct request *request)
{
	struct task *task = find_task(request);
	struct buffer text = { 0 };
	const char *misfit = NULL;
	struct json_value *inputs;
	bool is_waiting;

	if (!task || !request_object(request, "inputResponses", &inputs))
		return;
	is_waiting = status_of(task) == TASK_INPUT_REQUIRED;
	if (is_waiting)
		misfit = ask_take_inputs(task->call, request->document, inputs);
	if (misfit) {
		buffer_format(&text,
			      "Invalid params: the answer to %s does not match the form of its "
			      "question",
			      misfit);
		request_refuse_with(request, RPC_INVALID_PARAMS, &text, NULL);
		return;
	}
	request_answer_empty(request);
	if (is_waiting && !ask_is_open(task->call)) {
		report_change(task);
		ask_resume(task->call);
	}
}

void tasks_cancel(const struct request *request)
{
	struct task *task = find_task(request);

	if (!task)
		return;
	request_answer_empty(request);
	if (task->call)
		call_cancel(task->call);
}
