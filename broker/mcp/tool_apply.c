/* SPDX-License-Identifier: Apache-2.0
 *
 * apply_changes: bring the changes of a sandbox to the project on the host, as far as the policy
 * and the user allow agents to.
 *
 * A preview always precedes the apply, and msp-layers applies exactly the previewed changes: it
 * compares all changes and their contents with the preview's digest before it begins. If the user
 * has to agree, the question lists the preview's changes; with the answer the call applies them
 * without another preview.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/memory.h"
#include "mcp/apply_texts.h"
#include "mcp/ask.h"
#include "mcp/changes_job.h"
#include "mcp/params.h"
#include "mcp/resource_diff.h"
#include "mcp/tool_sandbox.h"

enum apply_param {
	APPLY_SANDBOX,
	APPLY_PATHS,
	APPLY_PREVIEW,
	APPLY_CONFLICT,
	APPLY_PARAMS,
};

/* In the order of enum changes_conflict. */
static const char *const conflict_names[] = { "refuse", "ours", "theirs", NULL };

static const struct tool_param params[APPLY_PARAMS] = {
	[APPLY_SANDBOX] = ROW_SANDBOX,
	[APPLY_PATHS] = ROW_PATHS("all changes."),
	[APPLY_PREVIEW] = ROW_FLAG("preview", "false",
				   "List the changes and conflicts without applying them."),
	[APPLY_CONFLICT] = { .name = "conflict",
			     .kind = PARAM_NAME,
			     .names = conflict_names,
			     .standard = "\"refuse\"",
			     .description = "For files that the host changed meanwhile. refuse: "
					    "apply nothing. ours: the sandbox's version wins. "
					    "theirs: the host's stays, and the rest is applied." },
};

/* The question's name. */
#define ASK_KEY "apply"

enum apply_phase {
	PHASE_SEARCH,
	PHASE_PREVIEW,
	PHASE_APPLY,
};

/* The subject of the question, kept for the answer. */
struct asked_about {
	uint8_t digest[IPC_DIGEST_BYTES]; /* digest of the preview */
	char sandbox[IPC_ID_MAX];
	uint8_t offers_held;
};

struct applying {
	struct sandbox_search search; /* first */
	enum apply_phase phase;
	struct changes_job job;
	struct ipc_changes_start wanted;
	struct json_tree paths;
	bool is_preview; /* preview only */
	enum plan_apply policy;
	struct apply_view view;
	struct asked_about asked;
};

static void free_applying(struct errand *errand)
{
	struct applying *work = (struct applying *)errand;

	changes_job_stop(&work->job);
	apply_view_done(&work->view);
	json_tree_done(&work->paths);
	free(work);
}

/* --- preview --------------------------------------------------------------------------------- */

static void on_change(void *context, const struct change *change)
{
	struct applying *work = context;

	apply_view_add(&work->view, change);
}

static void start_job(struct applying *work, uint32_t operation)
{
	apply_view_start(&work->view, work->is_preview || operation == CHANGES_APPLY);
	work->phase = operation == CHANGES_APPLY ? PHASE_APPLY : PHASE_PREVIEW;
	work->wanted.operation = operation;
	if (operation == CHANGES_PREVIEW)
		work->wanted.flags = CHANGES_TEXT;
	else
		memcpy(work->wanted.expected, work->asked.digest, sizeof(work->asked.digest));
	changes_job_start(&work->job, &work->wanted, &work->paths.document,
			  json_top(&work->paths.document));
}

/* --- consent --------------------------------------------------------------------------------- */

static struct call *call_of(const struct applying *work)
{
	return work->search.errand.call;
}

/* Return true if the question may offer host-executed files: only if each of them is shown. */
static bool offers_held(const struct applying *work)
{
	return work->view.page.held > 0 && work->view.held_shown == work->view.page.held;
}

static bool needs_word(const struct applying *work)
{
	return work->policy != PLAN_APPLY_AGENT || offers_held(work);
}

static const struct ask_input *ask_user(struct applying *work)
{
	struct buffer question = { 0 };
	const struct ask_input *input;

	apply_put_question(&work->view, &work->search.info, work->wanted.conflict,
			   work->policy == PLAN_APPLY_AGENT, offers_held(work), &question);
	input = call_ask(call_of(work), ASK_KEY, ASK_ELICITATION, &question);
	buffer_done(&question);
	return input;
}

static bool wants_held(const struct ask_input *input)
{
	struct json_value *content = ask_accepted(input);

	return content && json_is(json_member(input->document, content, APPLY_HELD_KEY), JSON_TRUE);
}

static void fail_apply(struct applying *work, const char *problem)
{
	struct buffer text = { 0 };

	if (work->search.info.workspace_mode == WORKSPACE_COPY)
		apply_put_failure(&text, problem, &work->search.info);
	else /* a person could not either */
		buffer_format(&text, "Nothing was applied. %s", problem);
	errand_answer(&work->search.errand, &text, true);
	buffer_done(&text);
}

/* Apply the preview's changes; host-executed files only with the user's consent. */
static void apply_previewed(struct applying *work, bool is_held_too)
{
	work->wanted.flags = is_held_too ? CHANGES_HELD_TOO : 0;
	start_job(work, CHANGES_APPLY);
}

/* With AGENT, all other changes need no consent. */
static void take_answer(struct applying *work, const struct ask_input *input)
{
	const bool is_agreed = ask_agreed(input);

	if (!input->value && work->policy != PLAN_APPLY_AGENT)
		fail_apply(work, "The client could not ask its user.");
	else if (!is_agreed && work->policy != PLAN_APPLY_AGENT)
		fail_apply(work, "The user did not agree.");
	else
		apply_previewed(work, is_agreed && work->asked.offers_held && wants_held(input));
}

/* Go on after the preview. */
static void ask_or_apply(struct applying *work)
{
	struct call *call = call_of(work);

	memcpy(work->asked.digest, work->job.done.digest, sizeof(work->asked.digest));
	memcpy(work->asked.sandbox, work->search.info.id, sizeof(work->asked.sandbox));
	work->asked.offers_held = offers_held(work);
	if (!needs_word(work) || !call_can_ask(call, ASK_ELICITATION)) {
		apply_previewed(work, false); /* without consent only the changes that need none */
		return;
	}
	if (ask_user(work)) {
		fail_apply(work, "The answer belongs to other changes than these.");
		return;
	}
	call_keep(call, &work->asked, sizeof(work->asked));
	call_await(errand_release(&work->search.errand));
}

/* Return the answer to the question about this sandbox; it holds for the previewed changes. */
static const struct ask_input *find_answer(struct applying *work)
{
	const struct buffer *kept = call_kept(call_of(work));

	if (work->is_preview || kept->size != sizeof(work->asked))
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
	buffer_done(&text);
}

static void on_previewed(struct applying *work)
{
	const struct change_page *page = &work->view.page;

	if (work->is_preview)
		answer_apply(work, apply_put_preview, false);
	else if (work->view.total == 0)
		answer_apply(work, apply_put_nothing, false);
	else if (page->conflicts > 0 && work->wanted.conflict == CONFLICT_REFUSE)
		answer_apply(work, apply_put_conflicts, true);
	else
		ask_or_apply(work);
}

static void on_ended(void *context)
{
	struct applying *work = context;
	struct session *session = call_of(work)->session;
	struct buffer problem = { 0 };

	if (work->phase == PHASE_APPLY)
		resource_diff_changed(session->host, work->search.info.id);
	if (work->job.done.error != 0 || (work->job.is_broken && work->phase != PHASE_APPLY)) {
		if (work->job.done.step == CHANGES_STEP_CONFIRMED)
			buffer_append_text(&problem,
					   "The changes differ from the preview. Let no execution "
					   "run in the sandbox, and call again.");
		else
			changes_job_put_problem(&work->job, &problem);
		buffer_append(&problem, "", 1);
		fail_apply(work, problem.bytes);
		buffer_done(&problem);
	} else if (work->phase == PHASE_APPLY) {
		answer_apply(work, apply_put_applied, work->job.done.applied == 0);
	} else {
		on_previewed(work);
	}
}

static const struct changes_rules changes_rules = { .found = on_change, .ended = on_ended };

/* If the profile is gone, no policy allows agents to apply. */
static enum plan_apply policy_of(const struct host *host, const char *name)
{
	const struct plan *plan = &host->plan;
	const int index = plan->bytes ? plan_profile_find(plan, name) : -1;
	const uint32_t apply = index < 0 ? (uint32_t)PLAN_APPLY_PERSON
					 : plan_profile(plan, (uint32_t)index)->apply;

	return apply < PLAN_APPLY_COUNT ? (enum plan_apply)apply : PLAN_APPLY_PERSON;
}

/* Return the reason against it before a preview; NULL: none. */
static const char *check_request(const struct applying *work)
{
	const struct ipc_sandbox_info *info = &work->search.info;

	if (info->workspace_mode == WORKSPACE_WRITE)
		return "The sandbox works on the project itself, which has its changes already.";
	if (info->workspace_mode != WORKSPACE_COPY)
		return "The sandbox has no copy of a project. The user can copy its files with "
		       "`msp cp`.";
	if (work->is_preview)
		return NULL;
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
	const struct session *session = search->errand.call->session;
	const struct ask_input *answered;
	const char *problem;

	work->policy = policy_of(session->host, search->info.profile);
	problem = check_request(work);
	if (problem) {
		fail_apply(work, problem);
		return;
	}
	memcpy(work->wanted.sandbox, search->info.id, sizeof(search->info.id));
	(void)strncpy(work->wanted.owner, sandboxes_owner(session->host, session->principal),
		      sizeof(work->wanted.owner) - 1);
	answered = find_answer(work);
	if (answered)
		take_answer(work, answered);
	else
		start_job(work, CHANGES_PREVIEW);
}

static void on_answer(struct errand *errand, const struct supervisor_answer *answer)
{
	struct applying *work = (struct applying *)errand;

	if (work->phase == PHASE_SEARCH)
		sandbox_search_take(errand, answer);
	else
		changes_job_take(&work->job, answer);
}

/* The supervisor's policy decides. */
static bool on_refused(struct errand *errand, const struct ipc_execution_refused *refused)
{
	if (refused->reason != REFUSAL_APPLY)
		return false;
	fail_apply((struct applying *)errand, "The policy lets only the user apply changes.");
	return true;
}

static const struct errand_rules rules = { .answered = on_answer,
					   .refused = on_refused,
					   .free = free_applying };

static uint32_t conflict_of(struct json_value *value)
{
	uint32_t index = 0;

	while (value && !json_equals(value, conflict_names[index]))
		index++;
	return CONFLICT_REFUSE + index;
}

static void apply_changes(struct call *call, const struct json_document *document,
			  struct json_value *const *values)
{
	const char *problem = changes_check_paths(document, values[APPLY_PATHS]);
	char wanted[IPC_NAME_MAX];
	struct applying *work;

	if (problem) {
		call_fail_text(call, problem);
		return;
	}
	if (!sandboxes_take(call, values[APPLY_SANDBOX], wanted))
		return;
	work = memory_get_zeroed(1, sizeof(*work));
	if (values[APPLY_PATHS])
		json_tree_copy(&work->paths, document, values[APPLY_PATHS]);
	work->is_preview = tool_boolean(values[APPLY_PREVIEW]);
	work->wanted.conflict = conflict_of(values[APPLY_CONFLICT]);
	work->job.rules = &changes_rules;
	work->job.errand = &work->search.errand;
	work->job.work = work;
	memcpy(work->search.wanted, wanted, sizeof(wanted));
	work->search.found = on_found;
	work->search.errand.subjects.sandbox = work->search.wanted;
	sandbox_search_begin(&work->search, call, &rules);
}

const struct tool tool_apply_changes = {
	.name = "apply_changes",
	.title = "Apply a sandbox's changes to the project",
	.description = "Apply changes in /workspace of a persistent sandbox to the user's project: "
		       "all, or chosen `paths`. Review with diff_changes first. The policy may "
		       "require the user's consent, or that the user runs `msp apply`. "
		       "Host-executed files, such as editor and CI configuration, need the user's "
		       "consent. An apply is complete or not done at all.",
	.params = params,
	.param_count = APPLY_PARAMS,
	.is_destructive = true,
	.may_ask = true,
	.handler = apply_changes,
};
