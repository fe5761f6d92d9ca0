/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/denial_hints.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/names.h"
#include "frontend/hint_search.h"

/* Words of the C library and of programs, in any case; other languages write them in theirs. */
static const struct phrase phrases[] = {
#define PHRASE(topic, error, words, beside, unless, says)                                          \
	{ TOPIC_##topic, error, words, beside, unless, says },
#include "frontend/hint_phrases.def"
#undef PHRASE
};
#define PHRASES (sizeof(phrases) / sizeof(phrases[0]))

/* Programs that can fail for want of a network without a word, and how they end then. */
static const struct silent {
	const char *program;
	uint32_t exit_code; /* 0: they try until their time is over */
} silents[] = { { "curl", 6 },   { "curl", 7 },      { "wget", 4 },   { "npm install", 0 },
		{ "npm ci", 0 }, { "npx --yes", 0 }, { "npx -y", 0 }, { "npm create", 0 } };

bool denial_hints_apply(const struct ipc_execution_done *done)
{
	return done->stage == STAGE_NONE &&
	       (done->verdict == VERDICT_SIGNALLED || done->verdict == VERDICT_TIMEOUT ||
		(done->verdict == VERDICT_EXITED && done->exit_code != 0));
}

/* --- limits and facts ------------------------------------------------------------------------- */

/* Whether the limit was met, the workload alone says: that there is one, the profile does. */
static void judge_limit(const struct search *search, const struct finding *finding)
{
	const struct plan_profile *profile = search->profile;
	const int error = finding->phrase->error;
	struct denial_view *view = hint_add_view(search, "limits", finding->phrase->says, "");

	if (!view)
		return;
	(void)snprintf(view->reason, sizeof(view->reason), "%s", errno_text(error));
	(void)snprintf(view->remedy, sizeof(view->remedy),
		       "use less, or raise it in the operator's profile");
	if (error == ENOMEM)
		denial_limit(view, "memory", profile->memory_bytes >> 20, " MiB");
	else if (error == EAGAIN)
		denial_limit(view, "pids", profile->pids, "");
	else if (error == EMFILE)
		denial_limit(view, "open_files", profile->open_files, "");
	else
		denial_limit(view, "size", 0, "");
}

static void judge_fact(const struct search *search, const struct finding *finding)
{
	struct denial_view *view = NULL;

	for (uint32_t i = 0; i < search->views->count; i++) {
		if (search->views->items[i].weight == DENIAL_CALLED)
			return; /* the kernel's own count says more */
	}
	view = hint_add_view(search, "sandbox", "privilege", "");
	if (!view)
		return;
	view->weight = DENIAL_FACT;
	(void)snprintf(view->reason, sizeof(view->reason), "%s", finding->phrase->says);
	(void)snprintf(view->remedy, sizeof(view->remedy), "none: no profile can allow it");
	hint_put(view->hint, "%s", finding->phrase->says);
}

static void (*const judges[TOPIC_COUNT])(const struct search *, const struct finding *) = {
	[TOPIC_FACT] = judge_fact,
	[TOPIC_PACKAGE] = hint_judge_network,
	[TOPIC_BIND] = hint_judge_bind,
	[TOPIC_SOCKET] = hint_judge_socket,
	[TOPIC_REFUSED] = hint_judge_refused,
	[TOPIC_NETWORK] = hint_judge_network,
	[TOPIC_LIMIT] = judge_limit,
	[TOPIC_PROJECT] = hint_judge_project,
	[TOPIC_FILE] = hint_judge_file,
};

/* A program that was stopped did not end by its errors: it may have waited for the network. */
static bool is_ending(const struct search *search, enum topic topic)
{
	return !search->source->is_timeout || topic == TOPIC_NETWORK || topic == TOPIC_PACKAGE;
}

static bool is_beside(const struct search *search, const char *line, const struct phrase *phrase)
{
	if (phrase->unless && strstr(search->command, phrase->unless))
		return false;
	return !phrase->beside || hint_text_find(line, phrase->beside) ||
	       hint_text_find(search->command, phrase->beside) ||
	       (phrase->topic == TOPIC_BIND && hint_text_find(search->text, phrase->beside));
}

static void judge_line(const struct search *search, const char *line)
{
	for (size_t i = 0; i < PHRASES; i++) {
		const struct finding finding = { &phrases[i], line,
						 hint_text_find_word(line, phrases[i].words) };

		if (finding.words && is_beside(search, line, &phrases[i])) {
			if (is_ending(search, phrases[i].topic))
				judges[phrases[i].topic](search, &finding);
			return;
		}
	}
}

/* Find a program in the command: its name, or its path below a directory of programs. */
static const char *find_program(const char *command, const char *program)
{
	const char *at = strstr(command, program);

	while (at && at > command && !strchr(" ;&|(", at[-1]) &&
	       !(at - command >= 4 && strncmp(at - 4, "bin/", 4) == 0))
		at = strstr(at + 1, program);
	return at;
}

/* A program that was told to be quiet says nothing but its exit code, or runs out of time. */
static void judge_silence(const struct search *search)
{
	static const struct phrase package = { .topic = TOPIC_PACKAGE };

	for (size_t i = 0; i < sizeof(silents) / sizeof(silents[0]); i++) {
		const char *at = find_program(search->command, silents[i].program);
		const struct finding finding = { &package, "", "" }, quiet = { NULL, at, at };
		char host[HINT_TARGET_MAX];
		uint16_t port = 0;

		if (!at)
			continue;
		if (search->source->is_timeout) {
			if (silents[i].exit_code == 0)
				hint_judge_network(search, &finding);
		} else if (silents[i].exit_code == search->source->exit_code &&
			   hint_text_command_host(at, host, &port)) {
			hint_judge_refused(search, &quiet);
		}
	}
}

/* --- what is shown ---------------------------------------------------------------------------- */

static bool has_any(const char *text, const char *const *words)
{
	for (; *words; words++) {
		if (hint_text_find(text, *words))
			return true;
	}
	return false;
}

/* Programs try calls that they can do without: a refused call is the reason of a failure only if
 * the output tells of a refusal or of that call, or if there is no output. For a call that programs
 * probe, the output must tell of EPERM, the filter's answer, or of the call. */
static bool is_reason(const struct denial_view *view, const char *text)
{
	static const char *const eperm[] = { "not permitted", "eperm", "errno 1]", NULL };
	static const char *const refusals[] = { "permission", "superuser",   "root",
						"privilege",  "not allowed", NULL };

	if (hint_text_find(text, view->operation))
		return true;
	if (view->weight == DENIAL_CALLED)
		return hint_text_is_blank(text) || has_any(text, eperm) || has_any(text, refusals);
	return !view->is_silent && has_any(text, eperm);
}

static void choose_calls(const struct search *search, const char *text)
{
	for (uint32_t i = 0; i < search->views->count; i++) {
		struct denial_view *view = &search->views->items[i];

		if (view->weight > DENIAL_FIRST && !is_reason(view, text))
			view->weight = DENIAL_LAST;
	}
}

static void judge_text(const struct search *search, char *text)
{
	char *rest = text;

	if (hint_text_is_blank(text))
		judge_silence(search);
	while (rest)
		judge_line(search, strsep(&rest, "\r\n"));
}

void denial_hints_add(const struct hint_source *source, struct denial_views *views)
{
	const struct plan *plan = source->plan;
	const int index = plan && plan->bytes ? plan_profile_find(plan, source->profile) : -1;
	static char whole[HINT_BYTES + 1];
	struct search search = { .source = source,
				 .views = views,
				 .text = whole,
				 .command = source->command ? source->command : "",
				 .is_clear = true };
	char text[HINT_BYTES + 1];
	char *begin;

	if (index < 0 || source->size > HINT_BYTES)
		return;
	memcpy(text, source->tail, source->size);
	hint_text_clean(text, source->size);
	memcpy(whole, text, sizeof(text));
	begin = source->size == HINT_BYTES ? strpbrk(text, "\r\n") : text; /* a whole line */
	search.profile = plan_profile(plan, (uint32_t)index);
	search.cwd = source->cwd && source->cwd[0] == '/' ? source->cwd
							  : plan_string(plan, search.profile->cwd);
	choose_calls(&search, text);
	for (uint32_t i = 0; i < views->count; i++)
		search.is_clear = search.is_clear && views->items[i].weight >= DENIAL_PROBED;
	judge_text(&search, begin ? begin : text);
	for (uint32_t i = 0; i < views->count; i++) {
		if (views->items[i].is_inferred)
			views->other[0] = views->note[0] = '\0';
	}
}
