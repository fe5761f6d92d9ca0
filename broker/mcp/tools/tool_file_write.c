/* SPDX-License-Identifier: Apache-2.0
 *
 * write_sandbox_file: write a file of a persistent sandbox, or replace a text in it.
 * patch_sandbox_files: change several files by a patch, all or none. The patch is parsed in the
 * sandbox, by msp-file; its report is a workload's text.
 */
#include <inttypes.h>
#include <string.h>

#include "frontend/base64.h"
#include "frontend/quote.h"
#include "io/text.h"
#include "mcp/core/file_job.h"
#include "mcp/core/sandboxes.h"
#include "mcp/tools/params.h"

enum write_param {
	WRITE_SANDBOX,
	WRITE_PATH,
	WRITE_CONTENT,
	WRITE_ENCODING,
	WRITE_MODE,
	WRITE_OLD,
	WRITE_NEW,
};

/* Bound by the length of a line. */
#define CONTENT_MAX (10U << 20)

static const char *const modes[] = { "overwrite", "create", "append", NULL };

static const struct tool_param params[] = {
	[WRITE_SANDBOX] = ROW_SANDBOX,
	[WRITE_PATH] = ROW_PATH(true, PATH_TEXT " Missing directories are made."),
	[WRITE_CONTENT] = { .name = "content",
			    .kind = PARAM_BYTES,
			    .bytes_max = CONTENT_MAX,
			    .description = "The content. Give this, or old_text and new_text." },
	[WRITE_ENCODING] = ROW_ENCODING("How `content` is given."),
	[WRITE_MODE] = { .name = "mode",
			 .kind = PARAM_NAME,
			 .names = modes,
			 .standard = "\"overwrite\"",
			 .description = "overwrite: replace the file or make it. create: fail if "
					"it exists. append: add to its end." },
	[WRITE_OLD] = { .name = "old_text",
			.kind = PARAM_BYTES,
			.bytes_max = CONTENT_MAX,
			.description =
				"Text to replace, exactly as in the file. It must occur once." },
	[WRITE_NEW] = { .name = "new_text",
			.kind = PARAM_BYTES,
			.bytes_max = CONTENT_MAX,
			.description = "The text in its place; may be empty." },
};

struct file_writing {
	struct file_job job; /* first */
	bool is_edit;
};

/* Return whether the path looks like one of the host: absolute, and not in the project. */
static bool is_like_hosts(const struct buffer *path)
{
	static const char project[] = "/workspace/";
	const size_t size = sizeof(project) - 1;

	return path->size > 0 && path->bytes[0] == '/' &&
	       (path->size < size || memcmp(path->bytes, project, size) != 0);
}

static void on_answered(struct file_job *job)
{
	const struct file_writing *work = (const struct file_writing *)job;
	struct buffer text = { 0 };

	file_job_put_path(job, &text);
	if (work->is_edit)
		buffer_append_text(&text, ": edited");
	else
		buffer_format(&text, ": %" PRIu64 " byte%s written", job->answer.is.count,
			      job->answer.is.count == 1 ? "" : "s");
	buffer_format(&text, " · %" PRIu64 " byte%s now", job->answer.is.size,
		      job->answer.is.size == 1 ? "" : "s");
	if (is_like_hosts(&job->path))
		buffer_append_text(&text, " · in the sandbox, not on the host");
	file_job_answer(job, &text, false);
}

static const struct file_job_rules rules = { .answered = on_answered };

/* Check the combination of arguments. NULL: it is valid. */
static const char *check_arguments(struct json_value *const *values)
{
	const bool is_edit = values[WRITE_OLD] || values[WRITE_NEW];

	if (values[WRITE_CONTENT] && is_edit)
		return "write_sandbox_file takes `content`, or `old_text` and `new_text`, not "
		       "both. Give one of them.";
	if (!values[WRITE_CONTENT] && !is_edit)
		return "write_sandbox_file needs `content`, or `old_text` and `new_text` to edit; "
		       "neither was given.";
	if (is_edit && !(values[WRITE_OLD] && values[WRITE_NEW]))
		return "An edit needs both `old_text` and `new_text`. An empty `new_text` removes "
		       "the old one.";
	if (is_edit && values[WRITE_OLD]->size == 0)
		return "The argument `old_text` is empty. Give the text to replace, exactly as it "
		       "is in the file, or `content` with mode=append to add to its end.";
	if (is_edit && (values[WRITE_MODE] || values[WRITE_ENCODING]))
		return "An edit takes neither `mode` nor `encoding`. Leave them out.";
	return NULL;
}

/* Take the source of the file's content. False: the call has failed. */
static bool take_input(struct file_writing *work, struct json_value *const *values,
		       struct buffer *ret)
{
	const struct json_value *content = values[WRITE_CONTENT];

	if (work->is_edit) {
		buffer_append(ret, values[WRITE_OLD]->text, values[WRITE_OLD]->size);
		buffer_append(ret, values[WRITE_NEW]->text, values[WRITE_NEW]->size);
	} else if (!values[WRITE_ENCODING] || !json_equals(values[WRITE_ENCODING], "base64")) {
		buffer_append(ret, content->text, content->size);
	} else if (!base64_decode(ret, content->text, content->size)) {
		file_job_fail(&work->job, "Nothing was written: `content` is not base64 with "
					  "padding. Encode it again, or leave `encoding` out.");
		return false;
	}
	return true;
}

static void ask_file(struct file_writing *work, struct json_value *const *values)
{
	const struct json_value *mode = values[WRITE_MODE];

	if (work->is_edit)
		(void)file_ask_number(&work->job.wanted, values[WRITE_OLD]->size);
	else if (mode)
		(void)file_ask_word(&work->job.wanted, mode->text, mode->size);
	else
		(void)file_ask_word(&work->job.wanted, modes[0], strlen(modes[0]));
}

static void write_sandbox_file(struct call *call, const struct json_document *document,
			       struct json_value *const *values)
{
	const char *problem = check_arguments(values);
	struct buffer input = { 0 };
	char sandbox[IPC_NAME_MAX];
	struct file_writing *work;

	if (problem) {
		call_fail(call, "%s", problem);
		return;
	}
	tool_copy_text(values[WRITE_SANDBOX], sandbox, sizeof(sandbox));
	work = (struct file_writing *)file_job_new(sizeof(*work), &rules, call, sandbox);
	work->is_edit = values[WRITE_OLD] != NULL;
	if (!file_job_ask(&work->job, work->is_edit ? "edit" : "write", values[WRITE_PATH]))
		return;
	ask_file(work, values);
	if (take_input(work, values, &input))
		file_job_start(&work->job, &input);
	buffer_done(&input);
}

const struct tool tool_write_sandbox_file = {
	.name = "write_sandbox_file",
	.title = "Write a file of a sandbox",
	.description = "Write a file in a persistent sandbox: its whole `content`, or one exact "
		       "replacement of `old_text` by `new_text`. It is written completely or not "
		       "at all, and keeps its mode.",
	TOOL_PARAMS(params),
	.is_destructive_here = true,
	.handler = write_sandbox_file,
};

/* --- patch_sandbox_files -------------------------------------------------------------------- */

enum patch_param {
	PATCH_SANDBOX,
	PATCH_PATCH,
};

static const struct tool_param patch_params[] = {
	[PATCH_SANDBOX] = ROW_SANDBOX,
	[PATCH_PATCH] = { .name = "patch",
			  .kind = PARAM_BYTES,
			  .is_required = true,
			  .bytes_max = STDIN_BYTES_MAX,
			  .if_empty = ". Begin it with *** Begin Patch, or give a unified diff.",
			  .description =
				  "*** Begin Patch, *** Add|Update|Delete File: PATH, *** Move "
				  "to:, @@ LINE, *** End Patch; or a unified diff. Paths: relative "
				  "to /workspace, or absolute." },
};

static void put_report(const struct file_job *job, struct buffer *text)
{
	const char *bytes = (const char *)job->rest;
	const bool has_end = job->rest_size > 0 && bytes[job->rest_size - 1] == '\n';
	const size_t whole = job->rest_size - has_end;
	const size_t size = text_fit_first(bytes, whole, RESULT_TEXT_BYTES, TEXT_JUDGED);

	text_append(text, bytes, size, TEXT_JUDGED);
	if (size < whole)
		buffer_append_text(text, "\n...");
}

static void on_patched(struct file_job *job)
{
	const uint64_t count = job->answer.is.count;
	struct buffer text = { 0 };

	put_report(job, &text);
	buffer_end_line(&text);
	buffer_format(&text, "[%" PRIu64 " file%s changed]", count, count == 1 ? "" : "s");
	file_job_answer(job, &text, false);
}

static void on_failed(struct file_job *job)
{
	char problem[FILE_PROBLEM_TEXT_MAX];
	struct buffer text = { 0 };

	file_problem_text(&job->answer, problem);
	if (job->answer.is.problem != FILE_TORN && !strstr(problem, "nothing was changed"))
		buffer_append_text(&text, "Nothing was changed. ");
	if (job->answer.is.problem == FILE_UNFIT) {
		put_report(job, &text);
	} else {
		quote_path(&text, QUOTE_UTF8, job->rest,
			   job->rest_size < IPC_PATH_MAX ? job->rest_size : IPC_PATH_MAX);
		buffer_format(&text, "%s%s.", job->rest_size > 0 ? " " : "The patch ", problem);
	}
	file_job_answer(job, &text, true);
}

static const struct file_job_rules patch_rules = { .answered = on_patched, .failed = on_failed };

static void patch_sandbox_files(struct call *call, const struct json_document *document,
				struct json_value *const *values)
{
	const struct buffer input = { .bytes = values[PATCH_PATCH]->text,
				      .size = values[PATCH_PATCH]->size };
	char sandbox[IPC_NAME_MAX];
	struct file_job *job;

	tool_copy_text(values[PATCH_SANDBOX], sandbox, sizeof(sandbox));
	job = file_job_new(sizeof(*job), &patch_rules, call, sandbox);
	(void)file_ask_word(&job->wanted, "patch", strlen("patch"));
	file_job_start(job, &input);
}

const struct tool tool_patch_sandbox_files = {
	.name = "patch_sandbox_files",
	.title = "Patch files of a sandbox",
	.description = "Change files of a persistent sandbox by a patch: all of it, or nothing and "
		       "where it does not fit. A hunk's old lines must fit in one place only.",
	TOOL_PARAMS(patch_params),
	.is_destructive_here = true,
	.handler = patch_sandbox_files,
};
