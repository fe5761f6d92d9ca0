/* SPDX-License-Identifier: Apache-2.0
 *
 * patch_sandbox_files: change several files of a persistent sandbox by a patch, all or none. The
 * patch is parsed in the sandbox, by msp-file; its report is a workload's text.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/text.h"
#include "mcp/core/change_page.h"
#include "mcp/core/file_job.h"
#include "mcp/core/sandboxes.h"
#include "mcp/tools/params.h"

enum patch_param {
	PATCH_SANDBOX,
	PATCH_PATCH,
	PATCH_PARAMS,
};

static const struct tool_param params[PATCH_PARAMS] = {
	[PATCH_SANDBOX] = ROW_SANDBOX,
	[PATCH_PATCH] = { .name = "patch",
			  .kind = PARAM_BYTES,
			  .is_required = true,
			  .bytes_max = STDIN_BYTES_MAX,
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

static void on_answered(struct file_job *job)
{
	const uint64_t count = job->answer.is.count;
	struct buffer text = { 0 };

	put_report(job, &text);
	buffer_end_line(&text);
	buffer_format(&text, "[%" PRIu64 " file%s changed]", count, count == 1 ? "" : "s");
	file_job_answer(job, &text, false);
	buffer_done(&text);
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
		change_put_path(&text, job->rest,
				job->rest_size < IPC_PATH_MAX ? job->rest_size : IPC_PATH_MAX);
		buffer_format(&text, "%s%s.", job->rest_size > 0 ? " " : "The patch ", problem);
	}
	file_job_answer(job, &text, true);
	buffer_done(&text);
}

static void free_job(struct file_job *job)
{
	free(job);
}

static const struct file_job_rules rules = { .answered = on_answered,
					     .failed = on_failed,
					     .free = free_job };

static void patch_sandbox_files(struct call *call, const struct json_document *document,
				struct json_value *const *values)
{
	const struct buffer input = { .bytes = values[PATCH_PATCH]->text,
				      .size = values[PATCH_PATCH]->size };
	char sandbox[IPC_NAME_MAX];
	struct file_job *job;

	if (input.size == 0) {
		call_fail_text(call, "The argument `patch` is empty. Begin it with *** Begin "
				     "Patch, or give a unified diff.");
		return;
	}
	if (!sandboxes_take(call, values[PATCH_SANDBOX], sandbox))
		return;
	job = file_job_new(sizeof(*job), &rules, call, sandbox);
	(void)file_ask_word(&job->wanted, "patch", strlen("patch"));
	file_job_start(job, &input);
}

const struct tool tool_patch_sandbox_files = {
	.name = "patch_sandbox_files",
	.title = "Patch files of a sandbox",
	.description = "Change files of a persistent sandbox by a patch: all of it, or nothing and "
		       "where it does not fit. A hunk's old lines must fit in one place only.",
	.params = params,
	.param_count = PATCH_PARAMS,
	.is_destructive_here = true,
	.handler = patch_sandbox_files,
};
