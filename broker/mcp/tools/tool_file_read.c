/* SPDX-License-Identifier: Apache-2.0
 *
 * read_sandbox_file: lines of a text file of a persistent sandbox, an image, or bytes as base64.
 */
#include <inttypes.h>
#include <string.h>

#include "common/sha256.h"
#include "frontend/base64.h"
#include "frontend/utf8.h"
#include "io/text.h"
#include "mcp/core/file_job.h"
#include "mcp/core/sandboxes.h"
#include "mcp/tools/params.h"

/* --- lines of a text ------------------------------------------------------------------------ */

/* A file of a sandbox as a text for a model: its lines with their numbers, or what a binary file
 * is. */

struct lines {
	uint64_t first;
	uint64_t limit;
	size_t room;
	uint64_t shown; /* lines */
	uint64_t crlf;  /* lines of these that end with \r\n */
	bool is_full;   /* more lines came than are shown */
	bool is_open;   /* the last line shown has no line end */
	bool is_odd;    /* bytes outside UTF-8, or control characters, are escaped */
	bool is_cut;    /* a long line is cut */
};

static bool has_odd_bytes(const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (((unsigned char)bytes[i] < ' ' && bytes[i] != '\t') || bytes[i] == 0x7f)
			return true;
	}
	return !utf8_is_valid(bytes, size);
}

static void put_line(const struct file_shown *found, uint64_t number, struct buffer *line)
{
	const bool is_cut = found->is.size > found->is.shown;
	const size_t half = is_cut ? text_unfinished(found->bytes, found->is.shown) : 0;
	const size_t size = found->is.shown - half;

	buffer_format(line, "%" PRIu64 "→", number);
	text_append(line, found->bytes, size, TEXT_CONTENTS);
	if (is_cut)
		buffer_format(line, " …[%" PRIu64 " more byte%s]", found->is.size - size,
			      found->is.size - size == 1 ? "" : "s");
	buffer_append_text(line, "\n");
}

/* Put the next line, if there is room. */
static void take_line(struct lines *lines, const struct file_shown *found, struct buffer *text)
{
	struct buffer line = { 0 };

	put_line(found, lines->first + lines->shown, &line);
	if (lines->shown == lines->limit ||
	    (lines->shown > 0 && text->size + line.size > lines->room)) {
		lines->is_full = true;
	} else {
		buffer_append(text, line.bytes, line.size);
		lines->shown++;
		lines->crlf += (found->is.flags & FILE_LINE_CRLF) != 0;
		lines->is_open = (found->is.flags & FILE_LINE_OPEN) != 0;
		lines->is_odd |= has_odd_bytes(found->bytes, found->is.shown) &&
				 found->is.size == found->is.shown;
		lines->is_cut |= found->is.size > found->is.shown;
	}
	buffer_done(&line);
}

static void put_notes(const struct lines *lines, struct buffer *text)
{
	if (lines->crlf > 0 && lines->crlf + lines->is_open >= lines->shown)
		buffer_append_text(text, " · lines end with \\r\\n");
	else if (lines->crlf > 0)
		buffer_format(text, " · %" PRIu64 " of these lines end%s with \\r\\n", lines->crlf,
			      lines->crlf == 1 ? "s" : "");
	if (lines->is_open)
		buffer_append_text(text, " · no line end at the end");
	if (lines->is_odd)
		buffer_append_text(text, " · not only text: encoding=base64 has the exact bytes");
	if (lines->is_cut)
		buffer_append_text(text, " · long lines are cut");
}

/* Put the last line; `end`: the last record. */
static void put_line_range(const struct lines *lines, const struct file_line *end,
			   struct buffer *text)
{
	const char *more = (end->flags & FILE_LINE_BEYOND) ? "more than " : "";
	const uint64_t last = lines->first + lines->shown - 1;
	const uint64_t total = end->size;

	if (total == 0)
		buffer_append_text(text, "[empty file");
	else if (lines->shown == 0)
		buffer_format(text, "[the file has %" PRIu64 " line%s", total,
			      total == 1 ? "" : "s");
	else if (lines->first == 1 && last >= total)
		buffer_format(text, "[%" PRIu64 " line%s, all of it", total, total == 1 ? "" : "s");
	else
		buffer_format(text, "[lines %" PRIu64 " to %" PRIu64 " of %s%" PRIu64, lines->first,
			      last, more, total);
	if (lines->shown > 0 && (last < total || *more))
		buffer_format(text, " · more: offset=%" PRIu64, last + 1);
	put_notes(lines, text);
	buffer_append_text(text, "]");
}

/* Put the lines of the answer from number `first` on, at most `limit` of them and `room` bytes of
 * text, and a last line that says which they are and how to go on. False: the answer is none. */
static bool file_lines_put(const struct file_job *job, uint64_t first, uint64_t limit, size_t room,
			   struct buffer *text)
{
	struct lines lines = { .first = first, .limit = limit, .room = room };
	struct file_shown found;
	size_t at = 0;
	long taken;

	while ((taken = file_shown_read(job->rest + at, job->rest_size - at, &found)) > 0) {
		at += (size_t)taken;
		if (found.is.flags & FILE_LINE_LAST) {
			put_line_range(&lines, &found.is, text);
			return true;
		}
		if (!lines.is_full)
			take_line(&lines, &found, text);
	}
	return false; /* msp-file could not finish it, or the workload forged it */
}

/* --- binary files --------------------------------------------------------------------------- */

static const struct {
	const char *bytes;
	size_t size;
	const char *name;
} kinds[] = {
#define KIND(text, name)                                                                           \
	{                                                                                          \
		text, sizeof(text) - 1, name                                                       \
	}
	KIND("\x7f"
	     "ELF",
	     "ELF program or library"),
	KIND("\x89PNG", "png image"),
	KIND("\xff\xd8\xff", "jpeg image"),
	KIND("GIF8", "gif image"),
	KIND("BM", "bmp image"),
	KIND("II*\0", "tiff image"),
	KIND("MM\0*", "tiff image"),
	KIND("RIFF", "RIFF media"),
	KIND("OggS", "ogg media"),
	KIND("ID3", "mp3 audio"),
	KIND("%PDF", "pdf document"),
	KIND("PK\3\4", "zip archive or office document"),
	KIND("\x1f\x8b", "gzip archive"),
	KIND("BZh", "bzip2 archive"),
	KIND("\xfd"
	     "7zXZ",
	     "xz archive"),
	KIND("\x28\xb5\x2f\xfd", "zstd archive"),
	KIND("!<arch>\n", "static library or deb package"),
	KIND("SQLite format 3", "sqlite database"),
	KIND("\0asm", "wasm module"),
	KIND("\xca\xfe\xba\xbe", "java class"),
	KIND("\xff\xfe", "UTF-16 text"),
	KIND("\xfe\xff", "UTF-16 text"),
#undef KIND
};

static const char *kind_name(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (size >= kinds[i].size && memcmp(bytes, kinds[i].bytes, kinds[i].size) == 0)
			return kinds[i].name;
	}
	return "binary file";
}

static bool is_digest(const struct file_answer *answer)
{
	if (answer->is.text_size != 2 * SHA256_BYTES)
		return false;
	for (size_t i = 0; i < answer->is.text_size; i++) {
		if (answer->text[i] == '\0' || !strchr("0123456789abcdef", answer->text[i]))
			return false;
	}
	return true;
}

/* Put one line about a file that is neither text nor an image. */
static void file_lines_put_binary(const struct file_job *job, struct buffer *text)
{
	const struct file_answer *answer = &job->answer;

	buffer_append_text(text, "[");
	buffer_append_text(text, kind_name(job->rest, job->rest_size));
	buffer_format(text, ", %" PRIu64 " byte%s", answer->is.size,
		      answer->is.size == 1 ? "" : "s");
	if (file_image_type(job->rest, job->rest_size))
		buffer_format(text, ": too large to be shown (at most %u)", FILE_IMAGE_MAX);
	if (is_digest(answer)) {
		buffer_append_text(text, ", sha256 ");
		buffer_append(text, answer->text, answer->is.text_size);
	}
	buffer_append_text(text, " · for its bytes: encoding=base64]");
}

/* --- the tool ------------------------------------------------------------------------------- */

enum read_param {
	READ_SANDBOX,
	READ_PATH,
	READ_OFFSET,
	READ_LIMIT,
	READ_ENCODING,
};

/* Base64 has a third more characters. */
#define BASE64_BYTES ((size_t)RESULT_TEXT_BYTES / 4 * 3)

/* Text of a call that says how many lines it wants. Without, it stays below the size at which
 * agents cut a result. */
#define LINES_TEXT_BYTES 50000

static const struct tool_param params[] = {
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

static void put_byte_range(const struct file_reading *work, struct buffer *text, size_t shown)
{
	const uint64_t size = work->job.answer.is.size;
	const uint64_t end = work->offset + shown;

	if (work->offset >= size && size > 0)
		buffer_format(text, "[there %s only %" PRIu64 " byte%s", size == 1 ? "is" : "are",
			      size, size == 1 ? "" : "s");
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
	put_byte_range(work, &text, size);
	file_job_answer(&work->job, &text, false);
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

static const struct file_job_rules rules = { .answered = on_answered };

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

	tool_copy_text(values[READ_SANDBOX], sandbox, sizeof(sandbox));
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
	TOOL_PARAMS(params),
	.is_read_only = true,
	.is_idempotent = true,
	.handler = read_sandbox_file,
};
