/* SPDX-License-Identifier: Apache-2.0
 *
 * apply_changes: bring the changes of a sandbox to the project on the host, as far as the policy
 * and the user allow agents to. preview_changes: its judgement about each change, without an apply.
 * It is a tool of its own, because clients that cannot ask their user refuse every call of a
 * destructive tool.
 *
 * A preview always precedes the apply, and msp-layers applies exactly the previewed changes: it
 * compares all changes and their contents with the preview's digest before it begins. If the user
 * has to agree, the question is about the preview's changes; with the answer the call applies them
 * without another preview.
 */
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "common/ipc/workspace_mode.h"
#include "lib/heap/memory.h"
#include "mcp/core/changes_job.h"
#include "mcp/core/sandbox_search.h"
#include "mcp/core/sandboxes.h"
#include "mcp/resources/resources.h"
#include "mcp/tools/apply_texts.h"
#include "mcp/tools/params.h"

enum apply_param {
	APPLY_SANDBOX,
	APPLY_PATHS,
	PREVIEW_PARAMS, /* a preview has those above */
	APPLY_DIGEST = PREVIEW_PARAMS,
	APPLY_CONFLICT,
};

/* In the order of enum changes_conflict. */
static const char *const conflict_names[] = { "refuse", "sandbox", "host", "merge", NULL };

static const struct tool_param params[] = {
	[APPLY_SANDBOX] = ROW_SANDBOX,
	[APPLY_PATHS] = ROW_PATHS,
	[APPLY_DIGEST] = { .name = "digest",
			   .kind = PARAM_TEXT,
			   .bytes_max = APPLY_DIGEST_ROOM - 1,
			   .description = "A preview's: refuse if the changes are others now." },
	[APPLY_CONFLICT] = { .name = "conflict",
			     .kind = PARAM_NAME,
			     .names = conflict_names,
			     .standard = "\"refuse\"",
			     .description =
				     "If the host changed a file too: apply nothing, take "
				     "the sandbox's, keep the host's, merge both or nothing." },
};

/* The question's name. */
#define ASK_KEY "apply"

/* The subject of the question, kept for the answer. */
struct asked_about {
	uint8_t digest[IPC_DIGEST_BYTES]; /* digest of the preview */
	char sandbox[IPC_ID_MAX];
	uint8_t offered; /* answers, as bits */
	uint8_t has_held;
};

struct applying {
	struct sandbox_search search; /* first */
	bool is_preview;              /* without an apply */
	struct changes_job job;
	struct ipc_changes_start wanted;
	struct chosen_paths paths;
	char digest[APPLY_DIGEST_ROOM]; /* the agent's preview; "": none is named */
	enum plan_apply policy;
	struct apply_view view;
	struct asked_about asked;
};

static void free_applying(struct errand *errand)
{
	struct applying *work = (struct applying *)errand;

	changes_job_stop(&work->job);
	apply_view_done(&work->view);
	chosen_paths_done(&work->paths);
	free(work);
}

/* --- preview --------------------------------------------------------------------------------- */

static void on_change(struct errand *errand, const struct change *change)
{
	struct applying *work = (struct applying *)errand;

	apply_view_add(&work->view, change);
	chosen_paths_meet(&work->paths, change);
}

static void on_ended(struct errand *errand);

static void start_job(struct applying *work, uint32_t operation)
{
	static const struct changes_rules rules = { .found = on_change, .ended = on_ended };

	apply_view_start(&work->view);
	chosen_paths_watch(&work->paths);
	work->wanted.operation = operation;
	if (operation == CHANGES_PREVIEW)
		work->wanted.flags = CHANGES_TEXT;
	else
		memcpy(work->wanted.expected, work->asked.digest, sizeof(work->asked.digest));
	changes_job_start(&work->job, &work->search.errand, &rules, work->search.info.id,
			  &work->wanted, &work->paths);
}

/* --- consent --------------------------------------------------------------------------------- */

static struct call *call_of(const struct applying *work)
{
	return work->search.errand.call;
}

static void fail_apply(struct applying *work, const char *problem)
{
	const char *id = work->search.info.id;

	if (work->search.info.workspace_mode == WORKSPACE_COPY)
		errand_fail(&work->search.errand,
			    "Nothing was applied. %s The changes stay in the sandbox; the user can "
			    "review them with `msp diff %s` and apply them with `msp apply %s`.",
			    problem, id, id);
	else /* a person could not either */
		errand_fail(&work->search.errand, "Nothing was applied. %s", problem);
}

/* Apply the preview's changes; host-executed files only with the user's consent. */
static void apply_previewed(struct applying *work, bool is_held_too)
{
	work->wanted.flags = is_held_too ? CHANGES_HELD_TOO : 0;
	start_job(work, CHANGES_APPLY);
}

static void take_answer(struct applying *work, const struct ask_input *input)
{
	struct buffer problem = { 0 };
	const enum apply_answer answer = apply_read_answer(input, work->asked.offered, &problem);

	if (answer != APPLY_NOTHING) {
		apply_previewed(work, answer == APPLY_EVERYTHING && work->asked.has_held);
	} else {
		if (work->policy == PLAN_APPLY_AGENT)
			buffer_append_text(&problem, " Changes that are not held need no consent: "
						     "choose them with `paths`.");
		fail_apply(work, problem.bytes);
	}
	buffer_done(&problem);
}

/* Ask the question, and keep its subject for the answer. */
static void ask_user(struct applying *work, const struct buffer *question)
{
	struct call *call = call_of(work);

	memcpy(work->asked.sandbox, work->search.info.id, sizeof(work->asked.sandbox));
	if (call_ask(call, ASK_KEY, ASK_ELICITATION, question)) {
		fail_apply(work, "The answer belongs to other changes than these.");
		return;
	}
	call_keep(call, &work->asked, sizeof(work->asked));
	call_await(errand_release(&work->search.errand));
}

/* Go on after the preview. With AGENT, changes that are not held need no consent. */
static void ask_or_apply(struct applying *work)
{
	const bool is_agents = work->policy == PLAN_APPLY_AGENT;
	struct buffer question = { 0 };
	unsigned int offered;

	offered = apply_put_question(&work->view, &work->search.info, work->wanted.conflict,
				     &question);
	work->asked.offered = (uint8_t)offered;
	work->asked.has_held = apply_view_held(&work->view) > 0;
	memcpy(work->asked.digest, work->job.done.digest, sizeof(work->asked.digest));
	if (is_agents &&
	    (!work->asked.has_held || (offered & APPLY_OFFERS(APPLY_EVERYTHING)) == 0 ||
	     !call_can_ask(call_of(work), ASK_ELICITATION)))
		apply_previewed(work, false);
	else if (offered == APPLY_OFFERS(APPLY_NOTHING))
		fail_apply(work, "Its changes can run by themselves, and their names are too long "
				 "for a question to the user.");
	else
		ask_user(work, &question);
	buffer_done(&question);
}

/* Return the answer to the question about this sandbox; it holds for the previewed changes. */
static const struct ask_input *find_answer(struct applying *work)
{
	const struct buffer *kept = call_kept(call_of(work));

	if (kept->size != sizeof(work->asked))
		return NULL;
	memcpy(&work->asked, kept->bytes, sizeof(work->asked));
	if (memcmp(work->asked.sandbox, work->search.info.id, sizeof(work->asked.sandbox)) != 0)
		return NULL;
	return call_answer(call_of(work), ASK_KEY, ASK_ELICITATION);
}

/* --- the steps ------------------------------------------------------------------------------ */

static void answer_apply(struct applying *work,
			 void (*put)(const struct apply_view *view,
				     const struct ipc_sandbox_info *info,
				     const struct ipc_changes_done *done, struct buffer *text),
			 bool is_error)
{
	struct buffer text = { 0 };

	put(&work->view, &work->search.info, &work->job.done, &text);
	errand_answer(&work->search.errand, &text, is_error);
}

/* Return true if the changes are those of the agent's preview, or it names none. */
static bool is_expected(const struct applying *work)
{
	char digest[APPLY_DIGEST_ROOM];

	apply_digest_text(work->job.done.digest, digest);
	return !work->digest[0] || strcmp(work->digest, digest) == 0;
}

static void on_previewed(struct applying *work)
{
	const struct change_page *page = &work->view.page;
	struct buffer problem = { 0 };

	if (chosen_paths_put_unmet(&work->paths, &problem)) {
		fail_apply(work, problem.bytes);
	} else if (!is_expected(work)) {
		fail_apply(work, "The changes are not those of this `digest`. Call "
				 "preview_changes again.");
	} else if (apply_view_count(&work->view) == 0) {
		answer_apply(work, apply_put_nothing, false);
	} else if (page->conflicts > 0 && work->wanted.conflict == CONFLICT_REFUSE) {
		answer_apply(work, apply_put_conflicts, true);
	} else if (page->conflicts > 0 && work->wanted.conflict == CONFLICT_MERGE) {
		answer_apply(work, apply_put_unmerged, true);
	} else {
		ask_or_apply(work);
	}
	buffer_done(&problem);
}

static void answer_preview(struct applying *work)
{
	const struct ipc_sandbox_info *info = &work->search.info;
	const struct host *host = call_of(work)->session->host;
	bool is_error = work->job.done.error != 0 || work->job.is_broken;
	struct buffer text = { 0 };

	if (is_error)
		changes_job_put_problem(&work->job, &text);
	else
		is_error = chosen_paths_put_unmet(&work->paths, &text);
	if (!is_error)
		apply_put_preview(&work->view, info, &work->job.done,
				  apply_policy(host, info->profile), &text);
	errand_answer(&work->search.errand, &text, is_error);
}

static void on_ended(struct errand *errand)
{
	struct applying *work = (struct applying *)errand;
	struct session *session = call_of(work)->session;
	const bool was_apply = work->wanted.operation == CHANGES_APPLY;
	struct buffer problem = { 0 };

	if (work->is_preview) {
		answer_preview(work);
		return;
	}
	if (was_apply)
		resource_diff_changed(session->host, work->search.info.id);
	if (work->job.done.error != 0 || (work->job.is_broken && !was_apply)) {
		if (work->job.done.step == CHANGES_STEP_CONFIRMED)
			buffer_append_text(&problem,
					   "The changes differ from the preview. Let no execution "
					   "run in the sandbox, and call again.");
		else
			changes_job_put_problem(&work->job, &problem);
		fail_apply(work, problem.bytes);
		buffer_done(&problem);
	} else if (was_apply) {
		answer_apply(work, apply_put_applied, work->job.done.applied == 0);
	} else {
		on_previewed(work);
	}
}

/* Return the reason against it before a preview; NULL: none. */
static const char *check_request(const struct applying *work)
{
	const struct ipc_sandbox_info *info = &work->search.info;
	const char *problem = apply_check_workspace(info);

	if (problem || work->is_preview)
		return problem;
	if (work->policy == PLAN_APPLY_PERSON)
		return "The policy lets only the user apply changes.";
	if (work->policy == PLAN_APPLY_ASK && !call_can_ask(call_of(work), ASK_ELICITATION))
		return "The policy requires the user's consent, and this client cannot ask (it "
		       "lacks elicitation).";
	if (info->executions > 0)
		return "An execution in the sandbox could change the files meanwhile. Wait with "
		       "read_output or end it with kill_execution, and call again.";
	return NULL;
}

static void on_found(struct sandbox_search *search)
{
	struct applying *work = (struct applying *)search;
	const struct host *host = search->errand.call->session->host;
	const struct ask_input *answered;
	const char *problem;

	work->policy = apply_policy(host, search->info.profile);
	problem = check_request(work);
	if (problem && work->is_preview)
		errand_fail(&search->errand, "%s", problem);
	else if (problem)
		fail_apply(work, problem);
	if (problem)
		return;
	answered = work->is_preview ? NULL : find_answer(work);
	if (answered)
		take_answer(work, answered);
	else
		start_job(work, CHANGES_PREVIEW);
}

/* The supervisor's policy decides. */
static bool on_refused(struct errand *errand, const struct ipc_execution_refused *refused)
{
	struct applying *work = (struct applying *)errand;

	if (refused->reason != REFUSAL_APPLY || work->is_preview)
		return false;
	fail_apply(work, "The policy lets only the user apply changes.");
	return true;
}

static const struct errand_rules rules = { .refused = on_refused, .free = free_applying };

static void begin_work(struct call *call, const struct json_document *document,
		       struct json_value *const *values, bool is_preview)
{
	struct applying *work;

	if (!chosen_paths_check(call, document, values[APPLY_PATHS]))
		return;
	work = memory_get_zeroed(1, sizeof(*work));
	work->is_preview = is_preview;
	chosen_paths_take(&work->paths, document, values[APPLY_PATHS]);
	work->wanted.conflict = CONFLICT_REFUSE;
	if (!is_preview) {
		tool_copy_text(values[APPLY_DIGEST], work->digest, sizeof(work->digest));
		work->wanted.conflict += tool_name_index(values[APPLY_CONFLICT], conflict_names);
	}
	tool_copy_text(values[APPLY_SANDBOX], work->search.wanted, sizeof(work->search.wanted));
	sandbox_search_begin(&work->search, call, on_found, &rules);
}

static void apply_changes(struct call *call, const struct json_document *document,
			  struct json_value *const *values)
{
	begin_work(call, document, values, false);
}

static void preview_changes(struct call *call, const struct json_document *document,
			    struct json_value *const *values)
{
	begin_work(call, document, values, true);
}

const struct tool tool_apply_changes = {
	.name = "apply_changes",
	.title = "Apply changes to the project",
	.description = "Apply changes in a sandbox's /workspace to the user's project: all, or "
		       "chosen `paths`, completely or not at all. Look with preview_changes first. "
		       "The policy may require the user's consent, always for host-executed files, "
		       "or that the user runs `msp apply`.",
	TOOL_PARAMS(params),
	.is_destructive = true,
	.may_ask = true,
	.handler = apply_changes,
};

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
