/* SPDX-License-Identifier: Apache-2.0
 *
 * list_sandbox_files: the entries of a directory of a persistent sandbox, and of those below it.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "frontend/quote.h"
#include "io/clock.h"
#include "mcp/core/file_job.h"
#include "mcp/core/sandboxes.h"
#include "mcp/tools/params.h"

enum list_param {
	LIST_SANDBOX,
	LIST_PATH,
	LIST_DEPTH,
	LIST_PATTERN,
	LIST_OFFSET,
	LIST_LIMIT,
};

#define DEPTH_PATTERN 16
#define PATTERN_MAX 1024
#define LIMIT_DEFAULT 200
#define LIMIT_MAX 1000

static const struct tool_param params[] = {
	[LIST_SANDBOX] = ROW_SANDBOX,
	[LIST_PATH] = ROW_PATH(
		false, "Directory, relative to /workspace or absolute. Omitted: /workspace."),
	[LIST_DEPTH] = { .name = "depth",
			 .kind = PARAM_INTEGER,
			 .minimum = 1,
			 .maximum = FILE_DEPTH_MAX,
			 .description = "Levels to go down. Omitted: 1, or 16 with a pattern." },
	[LIST_PATTERN] = { .name = "pattern",
			   .kind = PARAM_TEXT,
			   .bytes_max = PATTERN_MAX,
			   .description = "Only names that match, such as *.c; with a slash whole "
					  "paths, such as src/**/*.c." },
	[LIST_OFFSET] = ROW_OFFSET(OFFSET_OF_ENTRIES_MAX, "0", "Entries to skip."),
	[LIST_LIMIT] = ROW_LIMIT("limit", LIMIT_MAX, LIMIT_DEFAULT, "Most entries in one result."),
};

struct file_listing {
	struct file_job job; /* first */
	uint64_t offset;
	uint64_t shown;
	bool is_more;
	bool is_whole; /* the list is complete */
};

/* Put a line like one of ls -l, without the columns that every sandbox has alike. */
static void put_entry(const struct file_found *found, struct buffer *line)
{
	const struct file_entry *is = &found->is;

	if (S_ISREG(is->mode))
		buffer_format(line, "%" PRIo32 " %10" PRIu64 " ", is->mode & 07777, is->size);
	else
		buffer_format(line, "%" PRIo32 " %10s ", is->mode & 07777, "-");
	clock_append_date(line, is->modified_s * 1000);
	line->size -= strlen(".000Z");
	buffer_append_text(line, "Z ");
	quote_path(line, QUOTE_UTF8, found->path, is->path_size);
	if (S_ISDIR(is->mode))
		buffer_append_text(line, "/");
	if (is->link_size > 0) {
		buffer_append_text(line, " -> ");
		quote_path(line, QUOTE_UTF8, found->link, is->link_size);
	}
	if (!S_ISREG(is->mode) && !S_ISDIR(is->mode) && !S_ISLNK(is->mode))
		buffer_format(line, " [%s]", file_kind_name(is->mode));
	if ((is->flags & FILE_ENTRY_UNREADABLE) != 0)
		buffer_append_text(line, " [cannot be listed]");
	buffer_append_text(line, "\n");
}

/* Return true if the time is a calendar date. */
static bool has_date(const struct file_entry *is)
{
	return is->modified_s >= 0 && is->modified_s < INT64_C(253402300800); /* year 10000 */
}

/* Take the next entry. False: no more are shown. */
static bool take_entry(struct file_listing *work, struct file_found *found, struct buffer *text)
{
	struct buffer line = { 0 };
	bool fits;

	if (found->is.path_size == 0) {
		work->is_whole = true;
		work->is_more = (found->is.flags & FILE_ENTRY_MORE) != 0;
		return false;
	}
	if (!has_date(&found->is))
		found->is.modified_s = 0;
	put_entry(found, &line);
	fits = work->shown == 0 || text->size + line.size <= RESULT_TEXT_BYTES;
	if (fits) {
		buffer_append(text, line.bytes, line.size);
		work->shown++;
	}
	work->is_more = !fits;
	buffer_done(&line);
	return fits;
}

static void put_last_line(const struct file_listing *work, struct buffer *text)
{
	const uint64_t end = work->offset + work->shown;

	if (work->shown == 0 && work->offset == 0)
		buffer_append_text(text, "[no entries");
	else if (work->shown == 0)
		buffer_append_text(text, "[no more entries");
	else if (work->offset == 0 && !work->is_more)
		buffer_format(text, "[%" PRIu64 " entr%s, all of them", end,
			      end == 1 ? "y" : "ies");
	else
		buffer_format(text, "[entries %" PRIu64 " to %" PRIu64, work->offset + 1, end);
	if (work->is_more)
		buffer_format(text, " · more: offset=%" PRIu64, end);
	buffer_append_text(text, "]");
}

static void on_answered(struct file_job *job)
{
	struct file_listing *work = (struct file_listing *)job;
	struct buffer text = { 0 };
	struct file_found found;
	size_t at = 0;
	long taken;

	do {
		taken = file_found_read(job->rest + at, job->rest_size - at, &found);
		at += taken > 0 ? (size_t)taken : 0;
	} while (taken > 0 && take_entry(work, &found, &text));
	if (taken <= 0 && !work->is_whole) {
		/* msp-file could not finish it, or the workload forged it */
		buffer_done(&text);
		file_job_fail(job,
			      "The list is incomplete: it exceeded the sandbox's memory or time, "
			      "or a program interfered. Ask for fewer entries with `limit`.");
		return;
	}
	put_last_line(work, &text);
	file_job_answer(job, &text, false);
}

static const struct file_job_rules rules = { .answered = on_answered };

static void list_sandbox_files(struct call *call, const struct json_document *document,
			       struct json_value *const *values)
{
	const struct json_value *pattern = values[LIST_PATTERN];
	char sandbox[IPC_NAME_MAX];
	struct file_listing *work;

	tool_copy_text(values[LIST_SANDBOX], sandbox, sizeof(sandbox));
	work = (struct file_listing *)file_job_new(sizeof(*work), &rules, call, sandbox);
	work->offset = (uint64_t)tool_integer(values[LIST_OFFSET], 0);
	if (!file_job_ask(&work->job, "list", values[LIST_PATH]))
		return;
	(void)file_ask_number(
		&work->job.wanted,
		(uint64_t)tool_integer(values[LIST_DEPTH], pattern ? DEPTH_PATTERN : 1));
	(void)file_ask_number(&work->job.wanted, work->offset);
	(void)file_ask_number(&work->job.wanted,
			      (uint64_t)tool_integer(values[LIST_LIMIT], LIMIT_DEFAULT));
	(void)file_ask_word(&work->job.wanted, pattern ? pattern->text : "",
			    pattern ? pattern->size : 0);
	file_job_start(&work->job, NULL);
}

const struct tool tool_list_sandbox_files = {
	.name = "list_sandbox_files",
	.title = "List files of a sandbox",
	.description = "List a directory of a persistent sandbox: mode, size, time and path of "
		       "each entry, directories with a slash, links with their target. `depth` and "
		       "`pattern` look further down.",
	TOOL_PARAMS(params),
	.is_read_only = true,
	.is_idempotent = true,
	.handler = list_sandbox_files,
};
