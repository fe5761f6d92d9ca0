/* SPDX-License-Identifier: Apache-2.0
 *
 * read_sandbox_file: lines of a text file of a persistent sandbox, an image, or bytes as base64.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/base64.h"
#include "mcp/core/file_job.h"
#include "mcp/core/sandboxes.h"
#include "mcp/tools/file_lines.h"
#include "mcp/tools/params.h"

enum read_param {
	READ_SANDBOX,
	READ_PATH,
	READ_OFFSET,
	READ_LIMIT,
	READ_ENCODING,
	READ_PARAMS,
};

/* Base64 has a third more characters. */
#define BASE64_BYTES ((size_t)RESULT_TEXT_BYTES / 4 * 3)

/* Text of a call that says how many lines it wants. Without, it stays below the size at which
 * agents cut a result. */
#define LINES_TEXT_BYTES 50000

static const struct tool_param params[READ_PARAMS] = {
	[READ_SANDBOX] = ROW_SANDBOX,
	[READ_PATH] = ROW_PATH(true, PATH_TEXT),
	[READ_OFFSET] = ROW_OFFSET(OFFSET_OF_BYTES_MAX, NULL, "First line, from 1."),
	[READ_LIMIT] = { .name = "limit",
			 .kind = PARAM_INTEGER,
			 .minimum = 1,
			 .maximum = OFFSET_OF_BYTES_MAX,
			 .description = "Lines, up to 50 kB. Omitted: about 9 kB." },
	[READ_ENCODING] =
		ROW_ENCODING("base64: exact bytes; offset (from 0) and limit count them."),
};

struct file_reading {
	struct file_job job; /* first */
	uint64_t offset;     /* first line from 1, or first byte from 0 */
	uint64_t limit;
	size_t room; /* for the text */
	bool is_base64;
};

static void put_range(const struct file_reading *work, struct buffer *text, size_t shown)
{
	const uint64_t size = work->job.answer.is.size;
	const uint64_t end = work->offset + shown;

	if (work->offset >= size && size > 0)
		buffer_format(text, "[there are only %" PRIu64 " bytes", size);
	else if (work->offset == 0 && end >= size)
		buffer_format(text, "[%" PRIu64 " byte%s, all of it", size, size == 1 ? "" : "s");
	else
		buffer_format(text, "[bytes %" PRIu64 " to %" PRIu64 " of %" PRIu64, work->offset,
			      end, size);
	if (end < size)
		buffer_format(text, " · truncated, more: offset=%" PRIu64, end);
	buffer_append_text(text, " · base64]");
}

static void answer_base64(struct file_reading *work)
{
	const size_t size =
		work->job.rest_size < work->limit ? work->job.rest_size : (size_t)work->limit;
	struct buffer text = { 0 };

	base64_append(&text, work->job.rest, size);
	buffer_end_line(&text);
	put_range(work, &text, size);
	file_job_answer(&work->job, &text, false);
	buffer_done(&text);
}

static void answer_lines(struct file_reading *work)
{
	struct buffer text = { 0 };

	if (file_lines_put(&work->job, work->offset, work->limit, work->room, &text))
		file_job_answer(&work->job, &text, false);
	else
		file_job_fail(&work->job, FILE_JOB_INCOMPLETE);
	buffer_done(&text);
}

static void answer_image(struct file_reading *work)
{
	const struct file_job *job = &work->job;
	const char *type = file_image_type(job->rest, job->rest_size);
	struct buffer text = { 0 };

	if (!type || job->rest_size != job->answer.is.size || job->rest_size > FILE_IMAGE_MAX) {
		file_job_fail(&work->job, FILE_JOB_INCOMPLETE);
		return;
	}
	file_job_put_path(job, &text);
	buffer_format(&text, ": %s, %zu bytes", type, job->rest_size);
	file_job_answer_image(&work->job, &text, type);
	buffer_done(&text);
}

static void answer_digest(struct file_reading *work)
{
	struct buffer text = { 0 };

	file_lines_put_binary(&work->job, &text);
	file_job_answer(&work->job, &text, false);
	buffer_done(&text);
}

static void on_answered(struct file_job *job)
{
	static void (*const answers[FILE_FORM_COUNT])(struct file_reading *) = {
		[FILE_FORM_BYTES] = answer_base64,
		[FILE_FORM_LINES] = answer_lines,
		[FILE_FORM_IMAGE] = answer_image,
		[FILE_FORM_DIGEST] = answer_digest,
	};
	struct file_reading *work = (struct file_reading *)job;

	if ((job->answer.is.form == FILE_FORM_BYTES) == work->is_base64)
		answers[job->answer.is.form](work);
	else
		file_job_fail(job, FILE_JOB_INCOMPLETE);
}

static void free_reading(struct file_job *job)
{
	free(job);
}

static const struct file_job_rules rules = { .answered = on_answered, .free = free_reading };

/* Set what is read: bytes, or lines. */
static void take_range(struct file_reading *work, struct json_value *const *values)
{
	const int64_t limit = tool_integer(values[READ_LIMIT], OFFSET_OF_BYTES_MAX);

	work->is_base64 = values[READ_ENCODING] && json_equals(values[READ_ENCODING], "base64");
	work->limit = (uint64_t)limit;
	work->room = values[READ_LIMIT] ? LINES_TEXT_BYTES : RESULT_TEXT_BYTES;
	work->offset = (uint64_t)tool_integer(values[READ_OFFSET], 0);
	if (work->is_base64 && work->limit > BASE64_BYTES)
		work->limit = BASE64_BYTES;
	if (!work->is_base64 && work->offset == 0)
		work->offset = 1;
}

static void read_sandbox_file(struct call *call, const struct json_document *document,
			      struct json_value *const *values)
{
	char sandbox[IPC_NAME_MAX];
	struct file_reading *work;

	(void)document;
	if (!sandboxes_take(call, values[READ_SANDBOX], sandbox))
		return;
	work = (struct file_reading *)file_job_new(sizeof(*work), &rules, call, sandbox);
	take_range(work, values);
	if (!file_job_ask(&work->job, work->is_base64 ? "read" : "show", values[READ_PATH]))
		return;
	(void)file_ask_number(&work->job.wanted, work->offset);
	(void)file_ask_number(&work->job.wanted, work->limit);
	if (!work->is_base64)
		(void)file_ask_number(&work->job.wanted, work->room);
	file_job_start(&work->job, NULL);
}

const struct tool tool_read_sandbox_file = {
	.name = "read_sandbox_file",
	.title = "Read a file of a sandbox",
	.description = "Return a text file of a persistent sandbox, or a part, each line as "
		       "NUMBER→TEXT; NUMBER→ is not in the file. Shows images (png, jpeg, gif, "
		       "webp). To search many files, use run_command with grep.",
	.params = params,
	.param_count = READ_PARAMS,
	.is_read_only = true,
	.is_idempotent = true,
	.handler = read_sandbox_file,
};
