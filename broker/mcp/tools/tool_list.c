/* SPDX-License-Identifier: Apache-2.0
 *
 * list_sandboxes: the client's sandboxes and executions. Its result is data, and complete without
 * the text. The supervisor reports persistent sandboxes; executions, and ephemeral sandboxes, are
 * known in this process.
 */
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "common/text/names.h"
#include "io/clock.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/core/errand.h"
#include "mcp/core/sandboxes.h"
#include "mcp/tools/params.h"
#include "mcp/tools/sandbox_view.h"

enum list_param {
	LIST_OFFSET,
};

static const struct tool_param params[] = {
	[LIST_OFFSET] = ROW_OFFSET(OFFSET_OF_ENTRIES_MAX, NULL, "Sandboxes to skip."),
};

/* Bytes of the sandboxes in one result: clients cut a text of 10,000 characters, and cut JSON is
 * none. A page has at least one sandbox. */
#define PAGE_BYTES 9400U

/* Executions shown of one sandbox, the newest first. */
#define EXECUTIONS_MAX_LISTED 10U

/* Bytes of a command, enough to recognise it. */
#define COMMAND_BYTES 100U

static void put_milliseconds(struct json_writer *writer, const char *key, int64_t ms)
{
	json_put_number(writer, key, ms > 0 ? (uint64_t)ms : 0);
}

static void put_execution(struct json_writer *writer, const struct execution_info *info)
{
	const int64_t now_ms = clock_steady_ms();
	const char *command = info->label.command;

	json_open_object(writer, NULL);
	json_put_text(writer, "handle", info->handle);
	json_put_text(writer, "state", info->state == EXECUTION_OVER ? "ended" : "running");
	if (info->refused)
		json_put_text(writer, "verdict", "refused");
	if (info->done)
		json_put_text(writer, "verdict", verdict_name(info->done->verdict));
	if (info->done && info->done->verdict == VERDICT_EXITED)
		json_put_number(writer, "exit_code", info->done->exit_code);
	put_milliseconds(writer, "age_ms", now_ms - info->started_ms);
	if (info->state != EXECUTION_OVER && info->ends_ms > 0)
		put_milliseconds(writer, "left_ms", info->ends_ms - now_ms);
	json_put_string(writer, "command", command,
			text_fit_first(command, strlen(command), COMMAND_BYTES, TEXT_JUDGED));
	json_put_number(writer, "stdout_bytes", info->log.streams[OUTPUT_OUT].total);
	json_put_number(writer, "stderr_bytes", info->log.streams[OUTPUT_ERR].total);
	json_close_object(writer);
}

/* The list while it is made. */
struct listing {
	struct errand errand; /* first */
	struct buffer text;
	struct json_writer writer;
	struct buffer ids; /* ids of the listed persistent sandboxes, one after the other */
	size_t offset;     /* the first on this page */
	size_t end;        /* the first on the next page */
	size_t count;      /* sandboxes so far, on any page */
	bool is_full;
	struct json_writer before; /* the writer, and the size of the text, before the last one */
	size_t before_size;
};

/* Begin the next sandbox. False: it is not on this page. */
static bool begin_sandbox(struct listing *listing)
{
	const size_t number = listing->count++;

	if (number < listing->offset || listing->is_full)
		return false;
	listing->before = listing->writer;
	listing->before_size = listing->text.size;
	json_open_object(&listing->writer, NULL);
	return true;
}

/* End the sandbox; move it to the next page if it is too much for this one. */
static void end_sandbox(struct listing *listing)
{
	json_close_object(&listing->writer);
	if (listing->text.size > PAGE_BYTES && listing->end > listing->offset) {
		listing->writer = listing->before;
		listing->text.size = listing->before_size;
		listing->is_full = true;
	} else {
		listing->end++;
	}
}

static bool is_in(const struct execution *execution, const char *id)
{
	return strcmp(execution_info(execution)->sandbox, id) == 0;
}

/* Put the executions of one sandbox. */
static void put_executions(struct listing *listing, const char *id)
{
	const struct session *session = listing->errand.call->session;
	const struct execution_owner owner = session_owner(session);
	const struct execution *execution = NULL;
	size_t count = 0;

	json_open_array(&listing->writer, "executions");
	while ((execution = executions_older(session->host->executions, &owner, execution))) {
		if (!is_in(execution, id))
			continue;
		if (count++ < EXECUTIONS_MAX_LISTED)
			put_execution(&listing->writer, execution_info(execution));
	}
	json_close_array(&listing->writer);
	if (count > EXECUTIONS_MAX_LISTED)
		json_put_number(&listing->writer, "executions_omitted",
				count - EXECUTIONS_MAX_LISTED);
}

static void put_persistent(struct listing *listing, const struct ipc_sandbox_info *info)
{
	buffer_append(&listing->ids, info->id, SANDBOX_ID_CHARS);
	if (!begin_sandbox(listing))
		return;
	json_put_text(&listing->writer, "kind", "persistent");
	sandbox_put(&listing->writer, info);
	put_executions(listing, info->id);
	end_sandbox(listing);
}

static bool has_id(const struct buffer *ids, const char *id)
{
	for (size_t at = 0; at < ids->size; at += SANDBOX_ID_CHARS) {
		if (memcmp(ids->bytes + at, id, SANDBOX_ID_CHARS) == 0)
			return true;
	}
	return false;
}

/* Put the sandbox of an execution that the supervisor did not report. */
static void put_other(struct listing *listing, const struct execution_info *info)
{
	struct json_writer *writer = &listing->writer;

	if (info->is_persistent)
		buffer_append(&listing->ids, info->sandbox, SANDBOX_ID_CHARS);
	if (!begin_sandbox(listing))
		return;
	json_put_text(writer, "id", info->sandbox);
	json_put_text(writer, "kind", info->is_persistent ? "persistent" : "ephemeral");
	json_put_text(writer, "profile", info->label.profile);
	if (info->is_persistent)
		json_put_text(writer, "state", "gone");
	put_executions(listing, info->sandbox);
	end_sandbox(listing);
}

/* Say whose the sandboxes are, and where the list goes on. */
static void put_rest(struct listing *listing)
{
	const struct session *session = listing->errand.call->session;
	const char *owner = sandboxes_owner(session->host, session->principal);
	const size_t omitted = listing->count > listing->end ? listing->count - listing->end : 0;

	json_put_text(&listing->writer, "owner", owner[0] ? owner : "the user");
	json_put_text(&listing->writer, "shared_with",
		      owner[0] ? "every client with this name's token"
			       : "every local (stdio) client of this user, and their terminal");
	json_put_number(&listing->writer, "omitted", omitted);
	if (omitted > 0)
		json_put_number(&listing->writer, "next_offset", listing->end);
}

static void free_listing(struct errand *errand)
{
	struct listing *listing = (struct listing *)errand;

	buffer_done(&listing->text);
	buffer_done(&listing->ids);
	free(listing);
}

static void finish_list(struct listing *listing)
{
	const struct session *session = listing->errand.call->session;
	const struct execution_owner owner = session_owner(session);
	const struct execution *execution = NULL;
	struct answer answer;
	struct buffer text;
	struct call *call;

	while ((execution = executions_older(session->host->executions, &owner, execution))) {
		if (!has_id(&listing->ids, execution_info(execution)->sandbox))
			put_other(listing, execution_info(execution));
	}
	json_close_array(&listing->writer);
	put_rest(listing);
	json_close_object(&listing->writer);
	text = listing->text;
	listing->text = (struct buffer){ 0 };
	call = errand_release(&listing->errand);
	call_open_result(call, &answer);
	call_put_text(&answer, &text, false);
	json_put_raw(&answer.writer, "structuredContent", text.bytes, text.size);
	call_close_result(call, &answer);
	buffer_done(&text);
}

static void on_answer(struct errand *errand, const struct supervisor_answer *answer)
{
	struct listing *listing = (struct listing *)errand;
	const struct session *session = errand->call->session;

	if (answer->kind == ANSWER_DONE) {
		finish_list(listing);
		return;
	}
	sandboxes_learn(session->host, session->principal, answer->sandbox);
	put_persistent(listing, answer->sandbox);
}

/* If the supervisor has no persistent sandboxes, the list has none either. */
static bool on_refused(struct errand *errand, const struct ipc_execution_refused *refused)
{
	if (refused->reason == REFUSAL_STATE)
		finish_list((struct listing *)errand);
	return refused->reason == REFUSAL_STATE;
}

static const struct errand_rules rules = { .answered = on_answer,
					   .refused = on_refused,
					   .free = free_listing };

static void list_sandboxes(struct call *call, const struct json_document *document,
			   struct json_value *const *values)
{
	struct listing *listing = memory_get_zeroed(1, sizeof(*listing));
	struct ipc_sandbox_list wanted = { .request = 0 };

	listing->offset = listing->end = (size_t)tool_integer(values[LIST_OFFSET], 0);
	listing->writer.out = &listing->text;
	json_open_object(&listing->writer, NULL);
	json_open_array(&listing->writer, "sandboxes");
	errand_begin(&listing->errand, call, &rules);
	errand_ask(&listing->errand, sandbox_list, NULL, &wanted, -1);
}

const struct tool tool_list_sandboxes = {
	.name = "list_sandboxes",
	.title = "List sandboxes and executions",
	.description = "List persistent sandboxes (state, workspace, time of removal), which all "
		       "clients of one user share, and your executions, running ones and ended "
		       "ones whose output is kept. Use it to find a sandbox or a handle again.",
	TOOL_PARAMS(params),
	.is_read_only = true,
	.is_idempotent = true,
	.handler = list_sandboxes,
};
