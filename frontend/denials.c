/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/denials.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINES_MAX 2U
#define NEVER "no profile can allow it"

/* The sources of a description. `profile` is NULL if it is not known. */
struct source {
	const struct plan *plan;
	const struct plan_profile *profile;
};

static void add_phrase(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void add_phrase(char *text, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	/* Text that does not fit is cut; clang-tidy 14 loses sight of va_start(), where va_list is
	 * an array. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	(void)vsnprintf(text, size, format, arguments);
	va_end(arguments);
}

#define SAY(text, ...) add_phrase(text, sizeof(text), __VA_ARGS__)

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
		SAY(ret->reason, "the profile did not allow it, and does now");
		SAY(ret->rule, "the policy before the last change");
		break;
	default:
		SAY(ret->rule, "group %s", name);
		SAY(ret->remedy, NEVER);
		if (group->kind != PLAN_GROUP_ALLOWABLE)
			break;
		ret->weight = DENIAL_PROBED;
		SAY(ret->rule, "group %s is not allowed%s", name,
		    place_of(source,
			     &plan_group_origins(source->plan, source->profile)[call->group]));
		SAY(ret->remedy, "seccomp: {add: [%s]} in the operator's profile", name);
		break;
	}
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
	}
}

static void describe_memory(const struct source *source, const struct denial *denial,
			    struct denial_view *ret)
{
	(void)denial;
	SAY(ret->reason, "more than the sandbox may use: processes were killed");
	if (source->profile)
		SAY(ret->rule, "limits: memory: %" PRIu64 " MiB",
		    source->profile->memory_bytes >> 20);
	SAY(ret->remedy, "use less memory, or raise `memory` in the operator's profile");
}

static void describe_pids(const struct source *source, const struct denial *denial,
			  struct denial_view *ret)
{
	(void)denial;
	SAY(ret->reason, "more processes and threads than the sandbox may have");
	if (source->profile)
		SAY(ret->rule, "limits: pids: %" PRIu32, source->profile->pids);
	SAY(ret->remedy, "start fewer, or raise `pids` in the operator's profile");
}

static void describe_disk(const struct source *source, const struct denial *denial,
			  struct denial_view *ret)
{
	(void)source;
	(void)denial;
	SAY(ret->reason, "a file system of the sandbox has no room left");
	SAY(ret->rule, "files: size and inodes of a tmpfs");
	SAY(ret->remedy, "write less, or raise them in the operator's profile");
}

static void describe_rest(const struct source *source, const struct denial *denial,
			  struct denial_view *ret)
{
	(void)source;
	(void)denial;
	ret->weight = DENIAL_LAST;
	SAY(ret->reason, "only the first %d kinds of refused calls are told apart",
	    DENIAL_KINDS_MAX);
}

static const struct kind {
	const char *layer;
	const char *operation;
} kinds[DENIAL_COUNT] = {
#define DENIAL(name, layer, operation) [DENIAL_##name] = { layer, operation },
#include "common/denial.def"
#undef DENIAL
};

static void (*const describers[DENIAL_COUNT])(const struct source *source,
					      const struct denial *denial,
					      struct denial_view *ret) = {
	[DENIAL_SECCOMP] = describe_call, [DENIAL_MEMORY] = describe_memory,
	[DENIAL_PIDS] = describe_pids,    [DENIAL_DISK] = describe_disk,
	[DENIAL_OTHER] = describe_rest,
};

void denials_describe(const struct plan *plan, const char *profile,
		      const struct ipc_execution_done *done, struct denial_views *ret)
{
	const int index = plan && plan->bytes ? plan_profile_find(plan, profile) : -1;
	const struct source source = { plan,
				       index < 0 ? NULL : plan_profile(plan, (uint32_t)index) };
	struct denials denials;

	ret->count = 0;
	ret->other[0] = '\0';
	if (!denials_take(&denials, done->denials, done->denials_size))
		return;
	for (uint32_t i = 0; i < denials.size / sizeof(denials.records[0]); i++) {
		const struct denial *denial = &denials.records[i];
		struct denial_view *view = &ret->items[ret->count++];

		*view = (struct denial_view){ .layer = kinds[denial->layer].layer,
					      .count = denial->count };
		SAY(view->operation, "%s", kinds[denial->layer].operation);
		if (describers[denial->layer])
			describers[denial->layer](&source, denial, view);
	}
}

/* "denied: mount (2 times) by seccomp: the reason (rule; remedy)" */
static void put_line(const struct denial_view *view, char *text, size_t size)
{
	char times[32] = "";

	if (view->count > 1)
		SAY(times, " (%" PRIu32 " times)", view->count);
	add_phrase(text, size, "denied%s: %s%s%s%s by %s: %s%s%s%s%s%s",
		   view->is_inferred ? " (inferred)" : "", view->operation,
		   !view->target[0]    ? ""
		   : view->is_inferred ? " "
				       : " with ",
		   view->target, times, view->layer, view->reason,
		   view->rule[0] || view->remedy[0] ? " (" : "", view->rule,
		   view->rule[0] && view->remedy[0] ? "; " : "", view->remedy,
		   view->rule[0] || view->remedy[0] ? ")" : "");
}

void denials_put_lines(const struct denial_views *views, char ret[DENIALS_TEXT_MAX])
{
	const uint32_t more = views->count > LINES_MAX ? views->count - LINES_MAX : 0;
	uint32_t lines = 0;
	size_t used = 0;

	add_phrase(ret, DENIALS_TEXT_MAX, "%s", views->other);
	for (uint32_t weight = 0; weight < DENIAL_WEIGHTS; weight++) {
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
		add_phrase(ret + used, DENIALS_TEXT_MAX - used, "; and %" PRIu32 " more kind%s",
			   more, more > 1 ? "s" : "");
}
