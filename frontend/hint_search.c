/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/hint_search.h"

#include <inttypes.h>
#include <string.h>

#include "common/log.h"

bool hint_ask_policy(const struct search *search, const char *text, struct operation *operation,
		     struct decision *ret)
{
	char problem[OPERATION_PROBLEM_MAX];

	return operation_parse(text, operation, problem) == 0 &&
	       decide(search->source->plan, search->profile, operation, ret) == 0;
}

/* Return whether the policy allows the operation on what begins with `path`. */
static bool is_allowed(const struct search *search, const char *kind, const char *path)
{
	char text[HINT_TARGET_MAX + 32];
	struct operation operation;
	struct decision decision;

	SAY(text, "%s %s/x", kind, path);
	return hint_ask_policy(search, text, &operation, &decision) &&
	       decision.answer == DECISION_ALLOWED;
}

const struct plan_mount *hint_mount(const struct search *search, const char *path)
{
	const struct plan *plan = search->source->plan;
	const struct plan_mount *mounts = plan_mounts(plan, search->profile);
	const struct plan_mount *ret = NULL;
	size_t best = 0;

	for (uint32_t i = 0; i < search->profile->mount_count; i++) {
		const char *target = plan_string(plan, mounts[i].target);
		const size_t length = strlen(target);

		if (length < best || strncmp(path, target, length) != 0 ||
		    (path[length] != '/' && path[length] != '\0'))
			continue;
		best = length;
		ret = &mounts[i];
	}
	return ret;
}

const struct plan_mount *hint_own_mount(const struct search *search, const char *path)
{
	const struct plan_mount *mount = hint_mount(search, path);

	return mount && mount->kind == PLAN_TMPFS ? mount : NULL;
}

bool hint_is_workspace(const struct search *search, const struct plan_mount *mount)
{
	return mount && mount->place != 0 &&
	       strcmp(plan_string(search->source->plan, mount->place), PLAN_PLACE_WORKSPACE) == 0;
}

const char *hint_workspace(const struct search *search)
{
	const struct plan_mount *mounts = plan_mounts(search->source->plan, search->profile);

	for (uint32_t i = 0; i < search->profile->mount_count; i++) {
		if (hint_is_workspace(search, &mounts[i]))
			return plan_string(search->source->plan, mounts[i].target);
	}
	return NULL;
}

void hint_places(const struct search *search, const char *kind, char ret[HINT_TARGET_MAX])
{
	const char *const places[] = { plan_string(search->source->plan, search->profile->cwd),
				       "/tmp" };
	ret[0] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (strlen(places[i]) > 40 || !is_allowed(search, kind, places[i]) ||
		    (i > 0 && strcmp(places[i], places[0]) == 0))
			continue;
		format_append(ret, HINT_TARGET_MAX, "%s%s", ret[0] ? " or " : "", places[i]);
	}
}

struct denial_view *hint_add_view(const struct search *search, const char *layer,
				  const char *operation, const char *target)
{
	struct denial_views *views = search->views;
	struct denial_view *view;
	uint32_t inferred = 0;

	for (uint32_t i = 0; i < views->count; i++) {
		view = &views->items[i];
		if (strcmp(view->layer, layer) == 0 && strcmp(view->operation, operation) == 0 &&
		    (strcmp(view->target, target) == 0 || !view->is_inferred)) {
			view->count += view->is_inferred;
			return NULL;
		}
		inferred += view->is_inferred;
	}
	if (inferred == DENIAL_HINTS_MAX)
		return NULL;
	view = &views->items[views->count++];
	*view = (struct denial_view){
		.layer = layer, .weight = DENIAL_FIRST, .count = 1, .is_inferred = true
	};
	SAY(view->operation, "%s", operation);
	SAY(view->target, "%s", target);
	return view;
}

void hint_describe(const struct search *search, const struct decision *decision,
		   struct denial_view *view)
{
	const struct plan *plan = search->source->plan;

	SAY(view->reason, "%s", decision->error ? errno_text(decision->error) : "refused");
	if (decision->origin.file != 0)
		SAY(view->rule, "%.180s (%.60s:%" PRIu32 ")", decision->rule,
		    plan_string(plan, decision->origin.file), decision->origin.line);
	else
		SAY(view->rule, "%s", decision->rule);
	SAY(view->remedy, "%s", decision->remedy);
}
