/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_changes: the changes of a sandbox's /workspace compared with the project, or with a
 * checkpoint.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/core/change_page.h"
#include "mcp/core/changes_job.h"
#include "mcp/core/sandboxes.h"
#include "mcp/tools/params.h"

enum diff_param {
	DIFF_SANDBOX,
	DIFF_PATHS,
	DIFF_SINCE,
	DIFF_TEXT,
	DIFF_OFFSET,
	DIFF_LIMIT,
};

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 1000

static const struct tool_param params[] = {
	[DIFF_SANDBOX] = ROW_SANDBOX,
	[DIFF_PATHS] = ROW_PATHS,
	[DIFF_SINCE] =
		ROW_CHECKPOINT("since", "A checkpoint's number or name. Omitted: the project."),
	[DIFF_TEXT] = ROW_FLAG("text", "true", "false: names only."),
	[DIFF_OFFSET] = ROW_OFFSET(OFFSET_OF_ENTRIES_MAX, NULL, "Changes to skip."),
	[DIFF_LIMIT] = ROW_LIMIT("limit", LIMIT_MAX, LIMIT_DEFAULT, NULL),
};

struct diffing {
	struct errand errand; /* first */
	struct changes_job job;
	struct ipc_changes_start wanted;
	struct change_page page;
	char since[IPC_NAME_MAX];  /* the checkpoint as the client named it */
	struct buffer checkpoints; /* the existing checkpoints, during the lookup */
	struct chosen_paths paths;
};

/* --- the answer ----------------------------------------------------------------------------- */

static void put_compared(const struct diffing *work, struct buffer *text)
{
	if (work->since[0])
		buffer_format(text, "checkpoint %s",
			      text_quoted(work->since, strlen(work->since), QUOTE_BYTES));
	else
		buffer_append_text(text, "the project on the host");
}

/* Say how many of the changes are shown, and how to go on. */
static void put_last_line(const struct diffing *work, struct buffer *text)
{
	const uint64_t first = work->wanted.skip;
	const uint64_t end = first + work->page.count;
	const uint64_t total = work->job.done.total;
	const struct session *session = work->errand.call->session;
	const char *id = sandboxes_id_of(session->host, session->principal, work->wanted.sandbox);

	buffer_append_text(text, "[");
	if (total == 0)
		buffer_append_text(text, work->paths.tree.bytes ? "no chosen file differs from "
								: "no file differs from ");
	else if (work->page.count == 0)
		buffer_format(text, "there %s only %" PRIu64 " change%s against ",
			      total == 1 ? "is" : "are", total, total == 1 ? "" : "s");
	else if (first == 0 && end >= total)
		buffer_format(text, "%" PRIu64 " change%s against ", total, total == 1 ? "" : "s");
	else
		buffer_format(text, "changes %" PRIu64 " to %" PRIu64 " of %" PRIu64 " against ",
			      first + 1, end, total);
	put_compared(work, text);
	changes_job_put_ignored(&work->job.done, text);
	if (end < total && work->page.count > 0)
		buffer_format(text, " · more: offset=%" PRIu64, end);
	if (end < total && work->page.count > 0 && (work->wanted.flags & CHANGES_TEXT) != 0)
		buffer_append_text(text, " · text=false lists more at once");
	if (work->page.is_cut && id)
		buffer_format(text, " · the resource sandbox://%s/diff shows more of a diff", id);
	buffer_append_text(text, "]");
}

static void on_ended(struct errand *errand)
{
	struct diffing *work = (struct diffing *)errand;
	const bool is_error = work->job.done.error != 0 || work->job.is_broken;
	struct buffer text = { 0 };

	change_page_put(&work->page, &text);
	changes_job_put_problem(&work->job, &text);
	if (!is_error)
		put_last_line(work, &text);
	errand_answer(errand, &text, is_error);
}

static void on_found(struct errand *errand, const struct change *change)
{
	change_page_add(&((struct diffing *)errand)->page, change);
}

static const struct changes_rules changes_rules = { .found = on_found, .ended = on_ended };

/* --- the request ---------------------------------------------------------------------------- */

static void start_diff(struct diffing *work)
{
	changes_job_start(&work->job, &work->errand, &changes_rules, NULL, &work->wanted,
			  &work->paths);
}

static void note_checkpoint(struct diffing *work, const struct ipc_checkpoint_info *info)
{
	if (strcmp(info->name, work->since) == 0)
		work->wanted.number = info->number;
	buffer_format(&work->checkpoints, "%s%" PRIu32, work->checkpoints.size ? ", " : "",
		      info->number);
	if (info->name[0])
		buffer_format(&work->checkpoints, " %s", info->name);
}

/* Fail with the supervisor's text; the supervisor only knows numbers. */
static void fail_unknown(struct diffing *work)
{
	struct ipc_execution_refused refused = { .reason = REFUSAL_CHECKPOINT_UNKNOWN };
	const size_t room = sizeof(refused.detail) - 1;
	const size_t size = work->checkpoints.size;

	if (size > 0)
		memcpy(refused.detail, work->checkpoints.bytes, size < room ? size : room);
	errand_refuse(&work->errand, &refused);
}

/* Look up a checkpoint by its name first. */
static void on_answer(struct errand *errand, const struct supervisor_answer *answer)
{
	struct diffing *work = (struct diffing *)errand;

	if (answer->kind == ANSWER_CHECKPOINT)
		note_checkpoint(work, answer->checkpoint);
	else if (work->wanted.number > 0)
		start_diff(work);
	else
		fail_unknown(work);
}

static void free_diffing(struct errand *errand)
{
	struct diffing *work = (struct diffing *)errand;

	changes_job_stop(&work->job);
	change_page_done(&work->page);
	buffer_done(&work->checkpoints);
	chosen_paths_done(&work->paths);
	free(work);
}

static const struct errand_rules rules = { .answered = on_answer, .free = free_diffing };

static void ask_checkpoints(struct diffing *work)
{
	struct ipc_checkpoint_do wanted = { .operation = CHECKPOINT_LIST };

	errand_ask(&work->errand, checkpoint_do, work->wanted.sandbox, &wanted, -1);
}

static void start_search(struct call *call, const struct ipc_changes_start *wanted,
			 const char *since, const struct json_document *document,
			 const struct json_value *paths)
{
	struct diffing *work = memory_get_zeroed(1, sizeof(*work));

	work->wanted = *wanted;
	work->page.room = RESULT_TEXT_BYTES;
	(void)snprintf(work->since, sizeof(work->since), "%s", since);
	chosen_paths_take(&work->paths, document, paths);
	work->errand.subjects = (struct refusal_words){ .sandbox = work->wanted.sandbox,
							.checkpoint = work->since };
	errand_begin(&work->errand, call, &rules);
	if (since[0] && wanted->number == 0)
		ask_checkpoints(work);
	else
		start_diff(work);
}

static void diff_changes(struct call *call, const struct json_document *document,
			 struct json_value *const *values)
{
	const bool has_text = !values[DIFF_TEXT] || tool_boolean(values[DIFF_TEXT]);
	struct ipc_changes_start wanted = { .operation = CHANGES_DIFF };
	char since[IPC_NAME_MAX] = "";

	if (!chosen_paths_check(call, document, values[DIFF_PATHS]) ||
	    !checkpoints_take(call, values[DIFF_SINCE], &wanted.number, since))
		return;
	tool_copy_text(values[DIFF_SANDBOX], wanted.sandbox, sizeof(wanted.sandbox));
	tool_copy_text(values[DIFF_SINCE], since, sizeof(since));
	wanted.flags =
		(has_text ? CHANGES_TEXT : 0) | (values[DIFF_SINCE] ? CHANGES_FROM_CHECKPOINT : 0);
	wanted.skip = (uint64_t)tool_integer(values[DIFF_OFFSET], 0);
	wanted.most = (uint64_t)tool_integer(values[DIFF_LIMIT], LIMIT_DEFAULT);
	start_search(call, &wanted, since, document, values[DIFF_PATHS]);
}

const struct tool tool_diff_changes = {
	.name = "diff_changes",
	.title = "Show what changed in a sandbox",
	.description = "Show how /workspace of a persistent sandbox differs from the user's "
		       "project, or from a checkpoint: a list of files, then unified diffs. The "
		       "last line has the offset of the rest.",
	TOOL_PARAMS(params),
	.is_read_only = true,
	.is_idempotent = true,
	.handler = diff_changes,
};
