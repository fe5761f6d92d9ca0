/* SPDX-License-Identifier: Apache-2.0
 *
 * read_sandbox_file: a part of a file of a persistent sandbox.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/base64.h"
#include "frontend/utf8.h"
#include "io/text.h"
#include "mcp/file_job.h"
#include "mcp/params.h"
#include "mcp/sandboxes.h"
#include "mcp/tool_file.h"

enum read_param {
	READ_SANDBOX,
	READ_PATH,
	READ_OFFSET,
	READ_LIMIT,
	READ_ENCODING,
	READ_PARAMS,
};

/* Largest offset that a JSON number holds exactly. */

/* Base64 has a third more characters. */
#define BASE64_BYTES ((size_t)RESULT_TEXT_BYTES / 4 * 3)

/* The longest character without its last byte, to see whether a character is cut. */
#define CHARACTER_REST 3

static const struct tool_param params[READ_PARAMS] = {
	[READ_SANDBOX] = ROW_SANDBOX,
	[READ_PATH] = ROW_PATH(true, PATH_TEXT),
	[READ_OFFSET] = ROW_OFFSET(OFFSET_OF_BYTES_MAX, "0", "First byte to return."),
	[READ_LIMIT] =
		ROW_LIMIT("limit", RESULT_TEXT_BYTES, RESULT_TEXT_BYTES, "Most bytes to return."),
	[READ_ENCODING] = ROW_ENCODING(
		"text: bytes outside UTF-8 appear as \\xNN. base64: every byte exactly."),
};

struct file_reading {
	struct file_job job; /* first */
	uint64_t offset;
	size_t limit;
	bool is_base64;
};

/* Return how many of the bytes to show: a character cut by the end is left for the next part. */
static size_t whole_bytes(const char *bytes, size_t size, bool is_end)
{
	size_t cut = size > CHARACTER_REST ? size - CHARACTER_REST : 0;

	if (is_end)
		return size;
	for (; cut < size; cut++) {
		const unsigned char lead = (unsigned char)bytes[cut];
		const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;

		if (length > size - cut && cut > 0)
			return cut;
	}
	return size;
}

static bool has_line_ends(const char *bytes, size_t size)
{
	return memmem(bytes, size, "\r\n", 2) != NULL;
}

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
}

static void put_text(const struct file_reading *work, struct buffer *text)
{
	const char *bytes = (const char *)work->job.rest;
	const size_t there = work->job.rest_size < work->limit ? work->job.rest_size : work->limit;
	const bool is_end = work->offset + there >= work->job.answer.is.size;
	const size_t size = text_fit_first(bytes, whole_bytes(bytes, there, is_end),
					   RESULT_TEXT_BYTES, TEXT_CONTENTS);

	text_append(text, bytes, size, TEXT_CONTENTS);
	buffer_end_line(text);
	put_range(work, text, size);
	if (!utf8_is_valid(bytes, size) || memchr(bytes, '\0', size))
		buffer_append_text(text, " · not only text: encoding=base64 has the exact bytes");
	else if (has_line_ends(bytes, size))
		buffer_append_text(text, " · lines end with \\r\\n, shown as line ends");
	buffer_append_text(text, "]");
}

static void put_base64(const struct file_reading *work, struct buffer *text)
{
	const size_t size = work->job.rest_size < work->limit ? work->job.rest_size : work->limit;

	base64_append(text, work->job.rest, size);
	buffer_end_line(text);
	put_range(work, text, size);
	buffer_append_text(text, " · base64]");
}

static void on_answered(struct file_job *job)
{
	const struct file_reading *work = (const struct file_reading *)job;
	struct buffer text = { 0 };

	if (work->is_base64)
		put_base64(work, &text);
	else
		put_text(work, &text);
	file_job_answer(job, &text, false);
	buffer_done(&text);
}

static void free_reading(struct file_job *job)
{
	free(job);
}

static const struct file_job_rules rules = { .answered = on_answered, .free = free_reading };

static void read_sandbox_file(struct call *call, const struct json_document *document,
			      struct json_value *const *values)
{
	struct json_value *encoding = values[READ_ENCODING];
	char sandbox[IPC_NAME_MAX];
	struct file_reading *work;

	(void)document;
	if (!sandboxes_take(call, values[READ_SANDBOX], sandbox))
		return;
	work = (struct file_reading *)file_job_new(sizeof(*work), &rules, call, sandbox);
	work->offset = (uint64_t)tool_integer(values[READ_OFFSET], 0);
	work->limit = (size_t)tool_integer(values[READ_LIMIT], RESULT_TEXT_BYTES);
	work->is_base64 = encoding && json_equals(encoding, "base64");
	if (work->is_base64 && work->limit > BASE64_BYTES)
		work->limit = BASE64_BYTES;
	if (!file_job_ask(&work->job, "read", values[READ_PATH]))
		return;
	(void)file_ask_number(&work->job.wanted, work->offset);
	(void)file_ask_number(&work->job.wanted, work->limit);
	file_job_start(&work->job, NULL);
}

const struct tool tool_read_sandbox_file = {
	.name = "read_sandbox_file",
	.title = "Read a file of a sandbox",
	.description = "Return a file of a persistent sandbox, or a part of it, as text; the last "
		       "line has its size and the offset to read on. To search many files, use "
		       "run_command with grep.",
	.params = params,
	.param_count = READ_PARAMS,
	.is_read_only = true,
	.is_idempotent = true,
	.handler = read_sandbox_file,
};
