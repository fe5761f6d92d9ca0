/* SPDX-License-Identifier: Apache-2.0
 *
 * preview_changes: the judgement of apply_changes about each change, without an apply. A tool of
 * its own, because clients that cannot ask their user refuse every call of a destructive tool.
 */
#include <stdlib.h>
#include <string.h>

#include "common/ipc_changes.h"
#include "common/ipc_persistent.h"
#include "lib/heap/memory.h"
#include "mcp/core/changes_job.h"
#include "mcp/core/sandbox_search.h"
#include "mcp/core/sandboxes.h"
#include "mcp/tools/apply_texts.h"
#include "mcp/tools/params.h"

enum preview_param {
	PREVIEW_SANDBOX,
	PREVIEW_PATHS,
	PREVIEW_PARAMS,
};

static const struct tool_param params[PREVIEW_PARAMS] = {
	[PREVIEW_SANDBOX] = ROW_SANDBOX,
	[PREVIEW_PATHS] = ROW_PATHS,
};

struct previewing {
	struct sandbox_search search; /* first */
	bool is_found;
	struct changes_job job;
	struct ipc_changes_start wanted;
	struct chosen_paths paths;
	struct apply_view view;
};

static void free_previewing(struct errand *errand)
{
	struct previewing *work = (struct previewing *)errand;

	changes_job_stop(&work->job);
	apply_view_done(&work->view);
	chosen_paths_done(&work->paths);
	free(work);
}

static void on_change(void *context, const struct change *change)
{
	struct previewing *work = context;

	apply_view_add(&work->view, change);
	chosen_paths_meet(&work->paths, change);
}

static void on_ended(void *context)
{
	struct previewing *work = context;
	const struct changes_job *job = &work->job;
	const struct host *host = work->search.errand.call->session->host;
	const struct ipc_sandbox_info *info = &work->search.info;
	struct buffer text = { 0 };
	bool is_error = job->done.error != 0 || job->is_broken;

	if (is_error)
		changes_job_put_problem(job, &text);
	else
		is_error = chosen_paths_put_unmet(&work->paths, &text);
	if (!is_error)
		apply_put_preview(&work->view, info, &job->done, apply_policy(host, info->profile),
				  &text);
	errand_answer(&work->search.errand, &text, is_error);
	buffer_done(&text);
}

static const struct changes_rules changes_rules = { .found = on_change, .ended = on_ended };

static void on_found(struct sandbox_search *search)
{
	struct previewing *work = (struct previewing *)search;
	const struct session *session = search->errand.call->session;
	const char *problem = apply_check_workspace(&search->info);

	if (problem) {
		errand_fail_text(&search->errand, problem);
		return;
	}
	work->is_found = true;
	memcpy(work->wanted.sandbox, search->info.id, sizeof(search->info.id));
	(void)strncpy(work->wanted.owner, sandboxes_owner(session->host, session->principal),
		      sizeof(work->wanted.owner) - 1);
	apply_view_start(&work->view);
	chosen_paths_watch(&work->paths);
	changes_job_start(&work->job, &work->wanted, &work->paths);
}

static void on_answer(struct errand *errand, const struct supervisor_answer *answer)
{
	struct previewing *work = (struct previewing *)errand;

	if (work->is_found)
		changes_job_take(&work->job, answer);
	else
		sandbox_search_take(errand, answer);
}

static const struct errand_rules rules = { .answered = on_answer, .free = free_previewing };

static void preview_changes(struct call *call, const struct json_document *document,
			    struct json_value *const *values)
{
	char wanted[IPC_NAME_MAX];
	struct previewing *work;

	if (!chosen_paths_check(call, document, values[PREVIEW_PATHS]) ||
	    !sandboxes_take(call, values[PREVIEW_SANDBOX], wanted))
		return;
	work = memory_get_zeroed(1, sizeof(*work));
	chosen_paths_take(&work->paths, document, values[PREVIEW_PATHS]);
	work->wanted.operation = CHANGES_PREVIEW;
	work->wanted.conflict = CONFLICT_REFUSE;
	work->wanted.flags = CHANGES_TEXT;
	work->job.rules = &changes_rules;
	work->job.errand = &work->search.errand;
	work->job.work = work;
	memcpy(work->search.wanted, wanted, sizeof(wanted));
	work->search.found = on_found;
	work->search.errand.subjects.sandbox = work->search.wanted;
	sandbox_search_begin(&work->search, call, &rules);
}

const struct tool tool_preview_changes = {
	.name = "preview_changes",
	.title = "Preview an apply",
	.description = "List what apply_changes would do with each change: apply it, hold it for "
		       "the user's consent, or leave it out. Changes nothing.",
	.params = params,
	.param_count = PREVIEW_PARAMS,
	.is_read_only = true,
	.is_idempotent = true,
	.handler = preview_changes,
};
