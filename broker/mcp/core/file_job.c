/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/file_job.h"

#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_refused.h"
#include "common/text/names.h"
#include "frontend/quote.h"
#include "lib/heap/memory.h"
#include "mcp/core/result.h"
#include "mcp/core/sandboxes.h"
#include "mcp/core/session.h"

struct file_job *file_job_new(size_t size, const struct file_job_rules *rules, struct call *call,
			      const char *sandbox)
{
	struct file_job *job = memory_get_zeroed(1, size);

	job->rules = rules;
	job->waiting.call = call;
	sandboxes_head(call->session, sandbox, &job->wanted.head);
	return job;
}

void file_job_done(struct file_job *job)
{
	buffer_done(&job->path);
	buffer_done(&job->output);
	if (job->rules->free)
		job->rules->free(job);
	else
		free(job);
}

/* --- the end -------------------------------------------------------------------------------- */

void file_job_put_path(const struct file_job *job, struct buffer *text)
{
	quote_path(text, QUOTE_UTF8, job->path.bytes, job->path.size);
}

void file_job_answer(struct file_job *job, struct buffer *text, bool is_error)
{
	struct call *call = job->waiting.call;

	if (is_error && job->rules->failed_text) {
		job->rules->failed_text(job, text);
		buffer_done(text);
		return;
	}
	file_job_done(job);
	call_answer_text(call, text, is_error);
}

void file_job_answer_image(struct file_job *job, const struct buffer *text, const char *mime_type)
{
	struct call *call = job->waiting.call;
	struct answer answer;
	struct json_writer *writer = &answer.writer;

	call_open_result(call, &answer);
	json_open_array(writer, "content");
	json_open_object(writer, NULL);
	json_put_text(writer, "type", "image");
	json_put_base64(writer, "data", job->rest, job->rest_size);
	json_put_text(writer, "mimeType", mime_type);
	json_close_object(writer);
	call_put_block(writer, text);
	json_close_array(writer);
	json_put_bool(writer, "isError", false);
	file_job_done(job);
	call_close_result(call, &answer);
}

void file_job_fail(struct file_job *job, const char *problem)
{
	struct buffer text = { 0 };

	buffer_append_text(&text, problem);
	file_job_answer(job, &text, true);
}

static void fail_refused(struct file_job *job, const struct ipc_execution_refused *refused)
{
	const struct refusal_words subjects = { .program = "msp-file",
						.sandbox = job->wanted.sandbox };
	struct buffer text = { 0 };

	if (job->rules->refused && job->rules->refused(job, refused))
		return;
	buffer_append_text(&text, "Nothing was done. ");
	refusal_put(&text, refused, &subjects, &job->waiting.call->session->host->plan);
	file_job_answer(job, &text, true);
}

/* It ended before it gave a valid answer. */
static void fail_ended(struct file_job *job, const struct execution_info *info)
{
	struct buffer text = { 0 };

	buffer_append_text(&text, "The file operation did not finish");
	if (info->done && info->done->stage != STAGE_NONE) {
		buffer_append_text(&text, ". ");
		result_put_failure(info, NULL, &text);
	} else if (info->done && info->done->verdict != VERDICT_EXITED) {
		buffer_append_text(&text, ": ");
		result_put_verdict(info, NULL, &text);
		buffer_append_text(&text, ".");
	} else {
		buffer_append_text(
			&text,
			": a program in the sandbox interfered, or the file changed meanwhile.");
	}
	buffer_append_text(&text,
			   " Each file is either unchanged or complete. Check, and call again.");
	file_job_answer(job, &text, true);
}

static void fail_problem(struct file_job *job)
{
	char problem[FILE_PROBLEM_TEXT_MAX];
	struct buffer text = { 0 };

	file_problem_text(&job->answer, problem);
	file_job_put_path(job, &text);
	buffer_append_text(&text, " ");
	buffer_append_text(&text, problem);
	buffer_append_text(&text, ".");
	file_job_answer(job, &text, true);
}

/* Take its output up to the first gap. */
static void take_output(struct file_job *job, const struct execution_info *info)
{
	const struct output *output = &info->log.streams[OUTPUT_OUT];
	char bytes[OUTPUT_BLOCK_BYTES];
	uint64_t offset = 0;
	size_t got;

	while ((got = output_read(output, offset, bytes, sizeof(bytes))) > 0 &&
	       job->output.size < FILE_OUTPUT_MAX) {
		buffer_append(&job->output, bytes, got);
		offset += got;
	}
}

static void on_ended(struct waiting *waiting, enum waiting_end end)
{
	struct file_job *job = (struct file_job *)waiting;
	struct execution *execution = waiting->execution;
	const struct execution_info *info = end == WAITING_OVER ? execution_info(execution) : NULL;
	long head;

	if (!info) {
		file_job_fail(job,
			      "The file operation was cancelled. Each file is either unchanged "
			      "or complete. Check, and call again.");
		return;
	}
	take_output(job, info);
	head = file_answer_read((const uint8_t *)job->output.bytes, job->output.size, &job->answer);
	if (info->refused) {
		fail_refused(job, info->refused);
	} else if (head <= 0) {
		fail_ended(job, info);
	} else {
		job->rest = (const uint8_t *)job->output.bytes + head;
		job->rest_size = job->output.size - (size_t)head;
		if (job->answer.is.problem == FILE_DONE)
			job->rules->answered(job);
		else if (job->rules->failed)
			job->rules->failed(job);
		else
			fail_problem(job);
	}
	execution_discard(execution);
}

static void on_cancelled(struct waiting *waiting)
{
	execution_discard(waiting->execution);
	file_job_done((struct file_job *)waiting);
}

static const struct waiting_rules rules = { .ended = on_ended, .cancelled = on_cancelled };

/* --- the beginning -------------------------------------------------------------------------- */

bool file_job_ask(struct file_job *job, const char *command, const struct json_value *path)
{
	const char *text = path ? path->text : ".";
	const size_t size = path ? path->size : 1;

	buffer_append(&job->path, text, size);
	if (file_path_is_of_home(text)) {
		file_job_fail(job, "The argument `path` " FILE_PATH_OF_HOME);
		return false;
	}
	(void)file_ask_word(&job->wanted, command, strlen(command));
	(void)file_ask_word(&job->wanted, text, size);
	return true;
}

static const char *const start_problems[] = {
	[EXECUTION_START_TOO_MANY] = "Nothing was done: 1024 executions are running, which is the "
				     "limit. Call again when one has ended.",
	[EXECUTION_START_SHARE] = "Nothing was done: this client's share of executions is running. "
				  "Call again when one of them has ended.",
	[EXECUTION_START_INPUT_FULL] = "Nothing was done: the input of all running calls exceeds "
				       "12 MiB. Call again when one has ended, or write less.",
	[EXECUTION_START_QUEUE_FULL] =
		"Nothing was done: too many requests are waiting. Call again in a moment.",
	[EXECUTION_START_TOO_LONG] = "Nothing was done: the arguments are too long. Shorten them.",
	[EXECUTION_START_LOST] =
		"Nothing was done: this server is ending. Have the client start it again.",
};

/* Put the input in the pieces that msp-file reads. */
static void put_pieces(const struct buffer *input, struct buffer *ret)
{
	uint32_t size = 0;

	for (size_t at = 0; at < input->size; at += size) {
		const size_t left = input->size - at;

		size = left < FILE_PIECE_MAX ? (uint32_t)left : FILE_PIECE_MAX;
		buffer_append(ret, &size, sizeof(size));
		buffer_append(ret, input->bytes + at, size);
	}
	size = 0;
	buffer_append(ret, &size, sizeof(size));
}

void file_job_start(struct file_job *job, const struct buffer *input)
{
	static const struct execution_label label = { .subject = "msp-file" };
	struct call *call = job->waiting.call;
	const struct session *session = call->session;
	const char *id = sandboxes_id_of(session->host, session->principal, job->wanted.sandbox);
	struct buffer pieces = { 0 };
	struct execution_order order = {
		.type = IPC_TYPE_file_start,
		.wanted = &job->wanted.head,
		.code_fd = -1,
		.sandbox = id ? id : job->wanted.sandbox,
		.owner = session_owner(session),
		.label = &label,
	};
	struct execution *execution;
	enum execution_start start;

	if (input)
		put_pieces(input, &pieces);
	order.input = pieces.bytes;
	order.input_size = pieces.size;
	start = executions_start(session->host->executions, &order, &execution);
	buffer_done(&pieces);
	if (start != EXECUTION_START_DONE)
		file_job_fail(job, start_problems[start]);
	else
		waiting_begin(&job->waiting, call, execution, &rules, UINT32_MAX);
}
