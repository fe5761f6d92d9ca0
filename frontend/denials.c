/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/denials.h"

#include <inttypes.h>
#include <string.h>

#include "common/ipc/ipc_done.h"
#include "common/text/names.h"
#include "frontend/profile_names.h"

#define LINES_MAX 2U
#define NEVER "no profile can allow it"

/* The sources of a description. `profile` is NULL if it is not known. */
struct source {
	const struct plan *plan;
	const struct plan_profile *profile;
};

/* The groups and calls that programs probe: libraries call them at their start, or fall back. */
static const char *const probed_groups[] = { "attributes", "identity", "scheduling", "locking",
					     "ipc",        "landlock", "rare",       "numa",
					     "kernel",     "keys",     "handles",    "watch" };
static const char *const probed_calls[] = { "sync",     "syncfs",   "process_madvise", "kcmp",
					    "setfsuid", "setfsgid", "clock_adjtime" };

/* The groups that need a capability: allowing their calls would not help. */
static const char *const root_groups[] = { "identity", "privileged" };

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

#define IS_ONE_OF(name, names) is_one_of(name, names, sizeof(names) / sizeof((names)[0]))

void hint_path(const char *path, char ret[HINT_PATH_MAX])
{
	const size_t size = strlen(path);

	format_text(ret, HINT_PATH_MAX, "%s%s", size < HINT_PATH_MAX ? "" : "...",
		    size < HINT_PATH_MAX ? path : path + size - (HINT_PATH_MAX - 4));
}

void denial_limit(struct denial_view *view, const char *key, uint64_t value, const char *unit)
{
	static const struct limit_text {
		const char *key, *hint;
	} texts[] = {
		{ "memory", "the memory limit is %s; use less at once" },
		{ "pids", "the limit of processes and threads is %s; start fewer" },
		{ "open_files", "the limit of open files is %s; close some" },
		{ "file_size", "a file can have at most %s; write smaller ones" },
	};
	char number[48];

	if (value == 0) {
		SAY(view->rule, "files: size and inodes of a tmpfs; lasting: disk and inodes");
		SAY(view->hint, "a file system of the sandbox is full; remove files or write less");
		return;
	}
	SAY(number, "%" PRIu64 "%s", value, unit);
	SAY(view->rule, "limits: %s: %s", key, number);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *mark = strstr(texts[i].hint, "%s");

		if (strcmp(texts[i].key, key) == 0)
			SAY(view->hint, "%.*s%s%s", (int)(mark - texts[i].hint), texts[i].hint,
			    number, mark + 2);
	}
}

/* " (file:line)", where somebody said it. */
static const char *place_of(const struct source *source, const struct plan_origin *origin)
{
	static char text[96];

	text[0] = '\0';
	if (origin->file != 0)
		SAY(text, " (%s:%" PRIu32 ")", plan_string(source->plan, origin->file),
		    origin->line);
	return text;
}

/* Return the first profile that allows the call; NULL: there is none. */
static const char *find_allowing(const struct source *source, const struct plan_call *call)
{
	for (uint32_t i = 0; i < plan_profile_count(source->plan); i++) {
		const struct plan_profile *profile = plan_profile(source->plan, i);
		const char *name = plan_string(source->plan, profile->name);

		if (profile_is_listed(source->plan, profile) &&
		    plan_answer_to(source->plan, profile, call) == PLAN_ALLOWED)
			return name;
	}
	return NULL;
}

/* Set the hint of a refused call: the profile that allows it, if one does. */
static void hint_call(const struct source *source, const struct plan_call *call,
		      const struct plan_group *group, struct denial_view *ret)
{
	const char *name = plan_string(source->plan, group->name);
	const char *other = find_allowing(source, call);

	ret->is_network = strcmp(name, "network") == 0;
	if (IS_ONE_OF(name, root_groups))
		SAY(ret->hint, "no root rights here, and none can be had");
	else if (ret->target[0])
		SAY(ret->hint, "this use of %s is refused in every profile", ret->operation);
	else if (ret->is_network)
		SAY(ret->hint, "no network; this profile refuses sockets");
	else if (group->kind != PLAN_GROUP_ALLOWABLE)
		SAY(ret->hint, "%s is refused in every profile", ret->operation);
	else if (other)
		SAY(ret->hint, "%s is refused by this profile; %.30s allows it", ret->operation,
		    other);
	else
		SAY(ret->hint, "%s is refused by the operator's profile", ret->operation);
}

static enum denial_weight weigh_call(const char *group, const struct denial_view *view)
{
	return view->target[0] || IS_ONE_OF(group, probed_groups) ||
			       IS_ONE_OF(view->operation, probed_calls)
		       ? DENIAL_PROBED
		       : DENIAL_CALLED;
}

static void describe_answer(const struct source *source, const struct plan_call *call,
			    const struct denial *denial, struct denial_view *ret)
{
	const struct plan_group *group = &plan_groups(source->plan)[call->group];
	const char *name = plan_string(source->plan, group->name);

	SAY(ret->reason, "%s", plan_string(source->plan, group->reason));
	switch (plan_answer_to(source->plan, source->profile, call)) {
	case PLAN_CONDITIONAL:
		SAY(ret->target, "argument %" PRIu32 " = %#" PRIx64, call->argument + 1,
		    denial->argument);
		SAY(ret->reason, "%s", plan_string(source->plan, call->condition));
		SAY(ret->rule, "the condition on %s", ret->operation);
		SAY(ret->remedy, NEVER);
		break;
	case PLAN_TAKEN_OUT:
		SAY(ret->reason, "the profile refuses this call of a group that it allows");
		SAY(ret->rule, "seccomp: refuse%s",
		    place_of(source, &source->profile->refuse_origin));
		SAY(ret->remedy, "leave %s out of `refuse` in the operator's profile",
		    ret->operation);
		break;
	case PLAN_ALLOWED: /* the plan is a later one */
	case PLAN_PRETENDED:
		SAY(ret->reason, "the profile did not allow it, and does now");
		SAY(ret->rule, "the policy before the last change");
		break;
	default:
		SAY(ret->rule, "group %s", name);
		SAY(ret->remedy, NEVER);
		if (group->kind != PLAN_GROUP_ALLOWABLE)
			break;
		SAY(ret->rule, "group %s is not allowed%s", name,
		    place_of(source,
			     &plan_group_origins(source->plan, source->profile)[call->group]));
		if (IS_ONE_OF(name, root_groups))
			SAY(ret->remedy, "none: a workload has no capability");
		else
			SAY(ret->remedy, "seccomp: {add: [%s]} in the operator's profile", name);
		break;
	}
	ret->weight = weigh_call(name, ret);
	ret->is_silent = strcmp(name, "numa") == 0;
	hint_call(source, call, group, ret);
}

static void describe_call(const struct source *source, const struct denial *denial,
			  struct denial_view *ret)
{
	const struct plan_call *call =
		source->profile ? plan_call_find(source->plan, denial->number) : NULL;

	if (call) {
		SAY(ret->operation, "%s", plan_string(source->plan, call->name));
		describe_answer(source, call, denial, ret);
	} else {
		SAY(ret->operation, "system call %" PRIu32, denial->number);
		SAY(ret->reason, "the profile does not allow it");
		ret->weight = DENIAL_CALLED;
		SAY(ret->hint, "%s is refused", ret->operation);
	}
}

static void describe_memory(const struct source *source, const struct denial *denial,
			    struct denial_view *ret)
{
	SAY(ret->reason, "more than the sandbox may use: processes were killed");
	SAY(ret->hint, "the memory limit was reached; use less at once");
	if (source->profile)
		denial_limit(ret, "memory", source->profile->memory_bytes >> 20, " MiB");
	SAY(ret->remedy, "use less memory, or raise `memory` in the operator's profile");
}

static void describe_pids(const struct source *source, const struct denial *denial,
			  struct denial_view *ret)
{
	SAY(ret->reason, "more processes and threads than the sandbox may have");
	SAY(ret->hint, "the limit of processes and threads was reached; start fewer");
	if (source->profile)
		denial_limit(ret, "pids", source->profile->pids, "");
	SAY(ret->remedy, "start fewer, or raise `pids` in the operator's profile");
}

static void describe_disk(const struct source *source, const struct denial *denial,
			  struct denial_view *ret)
{
	SAY(ret->reason, "a file system of the sandbox has no room left");
	denial_limit(ret, "size", 0, "");
	SAY(ret->remedy, "remove files, write less, or raise them in the operator's profile");
}

static void describe_rest(const struct source *source, const struct denial *denial,
			  struct denial_view *ret)
{
	ret->weight = DENIAL_LAST;
	SAY(ret->reason, "only the first %d kinds of refused calls are told apart",
	    DENIAL_KINDS_MAX);
}

static const struct kind {
	const char *layer;
	const char *operation;
} kinds[DENIAL_COUNT] = {
#define DENIAL(name, layer, operation) [DENIAL_##name] = { layer, operation },
#include "common/records/denial.def"
#undef DENIAL
};

static void (*const describers[DENIAL_COUNT])(const struct source *source,
					      const struct denial *denial,
					      struct denial_view *ret) = {
	[DENIAL_SECCOMP] = describe_call, [DENIAL_MEMORY] = describe_memory,
	[DENIAL_PIDS] = describe_pids,    [DENIAL_DISK] = describe_disk,
	[DENIAL_OTHER] = describe_rest,
};

bool denial_hints_apply(const struct ipc_execution_done *done)
{
	return done->stage == STAGE_NONE &&
	       (done->verdict == VERDICT_SIGNALLED || done->verdict == VERDICT_TIMEOUT ||
		(done->verdict == VERDICT_EXITED && done->exit_code != 0));
}

void denials_describe(const struct plan *plan, const char *profile,
		      const struct ipc_execution_done *done, struct denial_views *ret)
{
	const struct source source = { plan, profile_find(plan, profile) };
	struct denials denials;

	ret->count = 0;
	ret->other[0] = ret->note[0] = ret->unreached[0] = '\0';
	if (done->is_offline && denial_hints_apply(done))
		SAY(ret->unreached,
		    "the service has no network, so no host can be reached; 'msp doctor' has the "
		    "remedy");
	if (!denials_take(&denials, done->denials, done->denials_size))
		return;
	for (uint32_t i = 0; i < denials.size / sizeof(denials.records[0]); i++) {
		const struct denial *denial = &denials.records[i];
		struct denial_view *view = &ret->items[ret->count++];

		*view = (struct denial_view){ .layer = kinds[denial->layer].layer,
					      .weight = DENIAL_FIRST,
					      .count = denial->count };
		SAY(view->operation, "%s", kinds[denial->layer].operation);
		if (describers[denial->layer])
			describers[denial->layer](&source, denial, view);
	}
}

/* "denied: mount (2 times) by seccomp: the reason (rule; remedy)" */
static void put_line(const struct denial_view *view, char *text, size_t size)
{
	char times[80] = "";

	if (view->is_shared)
		SAY(times, " (%" PRIu32 " time%s in all executions of the sandbox)", view->count,
		    view->count == 1 ? "" : "s");
	else if (view->count > 1)
		SAY(times, " (%" PRIu32 " times)", view->count);
	format_text(text, size, "denied%s: %s%s%s%s by %s: %s%s%s%s%s%s",
		    view->is_inferred ? " (inferred)" : "", view->operation,
		    !view->target[0]                        ? ""
		    : view->is_inferred || view->is_network ? " "
							    : " with ",
		    view->target, times, view->layer, view->reason,
		    view->rule[0] || view->remedy[0] ? " (" : "", view->rule,
		    view->rule[0] && view->remedy[0] ? "; " : "", view->remedy,
		    view->rule[0] || view->remedy[0] ? ")" : "");
}

/* Return the smallest weight among the views, or DENIAL_LAST. */
static enum denial_weight find_weight(const struct denial_views *views)
{
	enum denial_weight ret = DENIAL_LAST;

	for (uint32_t i = 0; i < views->count; i++) {
		if (views->items[i].weight < ret)
			ret = views->items[i].weight;
	}
	return ret;
}

static uint32_t count_shown(const struct denial_views *views, enum denial_weight last)
{
	uint32_t ret = 0;

	for (uint32_t i = 0; i < views->count; i++)
		ret += views->items[i].weight <= last;
	return ret;
}

void denials_put_lines(const struct denial_views *views, char ret[DENIALS_TEXT_MAX])
{
	const uint32_t shown = count_shown(views, DENIAL_CALLED);
	const uint32_t more = shown > LINES_MAX ? shown - LINES_MAX : 0;
	uint32_t lines = 0;
	size_t used = 0;

	ret[0] = '\0';
	for (uint32_t weight = 0; weight <= DENIAL_CALLED; weight++) {
		for (uint32_t i = 0; i < views->count && lines < LINES_MAX; i++) {
			if (views->items[i].weight != weight)
				continue;
			if (lines++ > 0)
				ret[used++] = '\n';
			put_line(&views->items[i], ret + used, DENIALS_TEXT_MAX / LINES_MAX - 40);
			used += strlen(ret + used);
		}
	}
	if (more > 0)
		format_text(ret + used, DENIALS_TEXT_MAX - used, "; and %" PRIu32 " more kind%s",
			    more, more > 1 ? "s" : "");
}

/* Return whether an earlier view says the same, of another target. */
static bool is_repeated(const struct denial_views *views, uint32_t index)
{
	const struct denial_view *view = &views->items[index];

	for (uint32_t i = 0; i < index; i++) {
		const struct denial_view *other = &views->items[i];

		if (other->weight == view->weight &&
		    (strcmp(other->hint, view->hint) == 0 ||
		     (view->is_inferred && strcmp(other->operation, view->operation) == 0)))
			return true;
	}
	return false;
}

void denials_put_hints(const struct denial_views *views, char ret[DENIALS_TEXT_MAX])
{
	const enum denial_weight weight = find_weight(views);
	const char *other = views->unreached[0] ? views->unreached
			    : views->note[0]    ? views->note
						: views->other;
	uint32_t lines = 0;
	size_t used = 0;

	ret[0] = '\0';
	for (uint32_t i = 0; i < views->count && weight < DENIAL_LAST && lines < LINES_MAX; i++) {
		if (views->items[i].weight != weight || is_repeated(views, i))
			continue;
		format_text(ret + used, DENIALS_TEXT_MAX - used, "[sandbox: %s]\n",
			    views->items[i].hint);
		used += strlen(ret + used);
		lines++;
	}
	if (lines == 0 && other[0])
		format_text(ret, DENIALS_TEXT_MAX, "[%s]\n", other);
}
