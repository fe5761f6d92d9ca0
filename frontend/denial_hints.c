/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/denial_hints.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/log.h"
#include "common/names.h"
#include "policy/decide.h"

#define LINES_MAX 64U
#define TARGET_MAX 200U
#define QUOTES "'\"`"

enum topic {
	TOPIC_FILE,
	TOPIC_NETWORK,
	TOPIC_LIMIT,
};

/* Words of the C library, in any case: other languages write them in theirs. */
static const struct phrase {
	const char *words;
	enum topic topic;
	int error;             /* FILE: that a decision must have */
	const char *operation; /* LIMIT: as denials.c names it, or another */
} phrases[] = {
	{ "read-only file system", TOPIC_FILE, EROFS, NULL },
	{ "permission denied", TOPIC_FILE, EACCES, NULL },
	{ "operation not permitted", TOPIC_FILE, EPERM, NULL },
	{ "no such file or directory", TOPIC_FILE, ENOENT, NULL },
	{ "network is unreachable", TOPIC_NETWORK, ENETUNREACH, NULL },
	{ "temporary failure in name resolution", TOPIC_NETWORK, 0, NULL },
	{ "name or service not known", TOPIC_NETWORK, 0, NULL },
	{ "could not resolve", TOPIC_NETWORK, 0, NULL },
	{ "unable to resolve", TOPIC_NETWORK, 0, NULL },
	{ "no space left on device", TOPIC_LIMIT, ENOSPC, "disk" },
	{ "cannot allocate memory", TOPIC_LIMIT, ENOMEM, "memory" },
	{ "resource temporarily unavailable", TOPIC_LIMIT, EAGAIN, "processes" },
	{ "too many open files", TOPIC_LIMIT, EMFILE, "open files" },
};
#define PHRASES (sizeof(phrases) / sizeof(phrases[0]))

struct search {
	const struct plan *plan;
	const struct plan_profile *profile;
	const char *cwd;
	struct denial_views *views;
	bool is_clear; /* no count would explain a failure */
};

bool denial_hints_apply(const struct ipc_execution_done *done)
{
	return done->stage == STAGE_NONE &&
	       (done->verdict == VERDICT_SIGNALLED ||
		(done->verdict == VERDICT_EXITED && done->exit_code != 0));
}

/* --- what a line speaks of -------------------------------------------------------------------- */

static const char *find_words(const char *line, const char *words)
{
	const size_t size = strlen(words);

	for (; *line; line++) {
		if (strncasecmp(line, words, size) == 0)
			return line;
	}
	return NULL;
}

/* Characters that are safe to show again. */
static bool copy_plain(const char *from, size_t size, char ret[TARGET_MAX])
{
	if (size == 0 || size >= TARGET_MAX)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (from[i] < 0x21 || from[i] > 0x7e)
			return false;
	}
	memcpy(ret, from, size);
	ret[size] = '\0';
	return true;
}

/* The word that begins at `from`: to its quote, or else to a space or a colon before one. */
static size_t measure_word(const char *from, char quote)
{
	size_t size = 0;

	if (quote)
		return strcspn(from, (const char[]){ quote, '\0' });
	while (from[size] && !isspace((unsigned char)from[size]) &&
	       !strchr(QUOTES ")],;", from[size]) &&
	       !(from[size] == ':' && (!from[size + 1] || isspace((unsigned char)from[size + 1]))))
		size++;
	return size;
}

/* The last absolute path of the line; not the program that complains, at its beginning. */
static bool find_absolute(const char *line, char ret[TARGET_MAX])
{
	bool is_found = false;

	for (const char *at = line + 1; *line && *at; at++) {
		if (*at != '/' || !strchr(" \t(=" QUOTES, at[-1]))
			continue;
		is_found = copy_plain(at, measure_word(at, strchr(QUOTES, at[-1]) ? at[-1] : '\0'),
				      ret) ||
			   is_found;
	}
	return is_found;
}

/* "cat: NAME: the words", or a name in quotes before or after them. */
static bool find_relative(const char *line, const char *words, char ret[TARGET_MAX])
{
	const char *begin = words;

	for (const char *at = line; *at; at++) {
		const size_t size = strchr(QUOTES, *at) ? measure_word(at + 1, *at) : 0;

		if (size > 0 && at[1 + size] == *at)
			return copy_plain(at + 1, size, ret);
	}
	if (words - line < 3 || words[-1] != ' ' || words[-2] != ':')
		return false;
	begin = words - 2;
	while (begin > line && !(begin[-1] == ' '))
		begin--;
	return begin - line >= 2 && begin[-2] == ':' &&
	       copy_plain(begin, (size_t)(words - 2 - begin), ret);
}

/* The workload may have changed its directory: a relative path counts only if it does not exist,
 * and is assumed to be in a directory of the workload's own. */
static bool find_path(const struct search *search, const struct phrase *phrase, const char *line,
		      const char *words, char ret[TARGET_MAX])
{
	char name[TARGET_MAX];
	int length;

	if (find_absolute(line, ret))
		return true;
	if (phrase->error != ENOENT || !find_relative(line, words, name) || name[0] == '/' ||
	    strstr(name, ".."))
		return false;
	while (strncmp(name, "./", 2) == 0)
		memmove(name, name + 2, strlen(name) - 1);
	length = snprintf(ret, TARGET_MAX, "%s/%s", search->cwd, name);
	return length > 0 && (size_t)length < TARGET_MAX;
}

/* A name with a dot in it, or an address. */
static bool find_host(const char *line, char ret[TARGET_MAX])
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";

	for (const char *at = line; *at;
	     at += strcspn(at, letters) > 0 ? strcspn(at, letters) : 1) {
		const size_t size = strspn(at, letters);
		const char *dot = memchr(at, '.', size);

		/* not the program or the error that a line begins with */
		if (dot && dot > at && dot + 1 < at + size && (at > line || at[size] != ':') &&
		    copy_plain(at, size, ret))
			return true;
		at += size;
		if (!*at)
			break;
	}
	return false;
}

/* --- what the policy says of it --------------------------------------------------------------- */

static bool ask_policy(const struct search *search, const char *text, struct operation *operation,
		       struct decision *ret)
{
	char problem[OPERATION_PROBLEM_MAX];

	return operation_parse(text, operation, problem) == 0 &&
	       decide(search->plan, search->profile, operation, ret) == 0;
}

static struct denial_view *add_view(const struct search *search, const char *layer,
				    const char *operation, const char *target)
{
	struct denial_views *views = search->views;
	uint32_t inferred = 0;

	for (uint32_t i = 0; i < views->count; i++) {
		struct denial_view *view = &views->items[i];

		if (strcmp(view->layer, layer) == 0 && strcmp(view->operation, operation) == 0 &&
		    (strcmp(view->target, target) == 0 || !view->is_inferred)) {
			view->count += view->is_inferred;
			return NULL;
		}
		inferred += view->is_inferred;
	}
	if (inferred == DENIAL_HINTS_MAX)
		return NULL;
	views->items[views->count] =
		(struct denial_view){ .layer = layer, .count = 1, .is_inferred = true };
	(void)snprintf(views->items[views->count].operation, sizeof(views->items[0].operation),
		       "%s", operation);
	(void)snprintf(views->items[views->count].target, sizeof(views->items[0].target), "%s",
		       target);
	return &views->items[views->count++];
}

static void add_decision(const struct search *search, const struct operation *operation,
			 const char *target, const struct decision *decision)
{
	struct denial_view *view =
		add_view(search, decision->layer, operation_kind_name(operation->kind), target);

	if (!view)
		return;
	(void)snprintf(view->reason, sizeof(view->reason), "%s",
		       decision->error ? errno_text(decision->error) : "refused");
	if (decision->origin.file != 0)
		(void)snprintf(view->rule, sizeof(view->rule), "%.180s (%.60s:%" PRIu32 ")",
			       decision->rule, plan_string(search->plan, decision->origin.file),
			       decision->origin.line);
	else
		(void)snprintf(view->rule, sizeof(view->rule), "%s", decision->rule);
	(void)snprintf(view->remedy, sizeof(view->remedy), "%s", decision->remedy);
}

static void say_other(const struct search *search, const char *path)
{
	struct denial_views *views = search->views;

	if (search->is_clear && !views->other[0])
		(void)snprintf(views->other, sizeof(views->other),
			       "not the sandbox: its policy does not refuse %s like that; the "
			       "reason lies in what the command found or made there",
			       path);
}

static const char *first_kind(const char *line)
{
	static const struct {
		const char *word, *kind;
	} words[] = {
		{ "creat", "create" },  { "mkdir", "create" },  { "touch", "create" },
		{ "remove", "delete" }, { "unlink", "delete" }, { "exec", "exec" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (find_words(line, words[i].word))
			return words[i].kind;
	}
	return "read";
}

/* Was it one of the acts that the policy was asked about? What else has these errors (another
 * owner, a socket, two paths) it says nothing of. */
static bool is_plain(const struct phrase *phrase, const char *line)
{
	static const char *const others[] = { "bind",  "connect", "socket", "move",   "rename",
					      "link",  "chmod",   "chown",  "change", "changing",
					      "ioctl", "attr",    "lock",   "mount" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (find_words(line, others[i]))
			return false;
	}
	return phrase->error == ENOENT || phrase->error == EACCES;
}

static void judge_file(const struct search *search, const struct phrase *phrase, const char *line,
		       const char *words)
{
	const char *const kinds[] = { first_kind(line), "read", "write", "create",
				      "exec",           "list", "delete" };
	char path[TARGET_MAX];
	char text[TARGET_MAX + 16];
	struct operation operation;
	struct decision decision;

	if (!find_path(search, phrase, line, words, path))
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		(void)snprintf(text, sizeof(text), "%s %s", kinds[i], path);
		if (!ask_policy(search, text, &operation, &decision))
			return; /* not a path that the policy could speak of */
		if (decision.answer > DECISION_CONDITIONAL && decision.error == phrase->error) {
			add_decision(search, &operation, path, &decision);
			return;
		}
	}
	if (is_plain(phrase, line))
		say_other(search, path);
}

static void judge_network(const struct search *search, const char *line)
{
	char host[TARGET_MAX];
	char text[TARGET_MAX + 16];
	struct operation operation;
	struct decision decision;

	if (!find_host(line, host))
		(void)snprintf(host, sizeof(host), "example.org"); /* for all of them */
	(void)snprintf(text, sizeof(text), "connect %s:443", host);
	if (ask_policy(search, text, &operation, &decision) && decision.answer == DECISION_REFUSED)
		add_decision(search, &operation, find_host(line, host) ? host : "any host",
			     &decision);
}

/* Whether the limit was met, the workload alone says: that there is one, the profile does. */
static void judge_limit(const struct search *search, const struct phrase *phrase)
{
	const struct plan_profile *profile = search->profile;
	struct denial_view *view = add_view(search, "limits", phrase->operation, "");

	if (!view)
		return;
	(void)snprintf(view->reason, sizeof(view->reason), "%s", errno_text(phrase->error));
	(void)snprintf(view->remedy, sizeof(view->remedy),
		       "use less, or raise it in the operator's profile");
	if (phrase->error == ENOMEM)
		(void)snprintf(view->rule, sizeof(view->rule), "limits: memory: %" PRIu64 " MiB",
			       profile->memory_bytes >> 20);
	else if (phrase->error == EAGAIN)
		(void)snprintf(view->rule, sizeof(view->rule), "limits: pids: %" PRIu32,
			       profile->pids);
	else if (phrase->error == EMFILE)
		(void)snprintf(view->rule, sizeof(view->rule), "limits: open_files: %" PRIu32,
			       profile->open_files);
	else
		(void)snprintf(view->rule, sizeof(view->rule), "files: size and inodes of a tmpfs");
}

static void judge_line(const struct search *search, const char *line)
{
	for (size_t i = 0; i < PHRASES; i++) {
		const char *words = find_words(line, phrases[i].words);

		if (!words)
			continue;
		if (phrases[i].topic == TOPIC_FILE)
			judge_file(search, &phrases[i], line, words);
		else if (phrases[i].topic == TOPIC_NETWORK)
			judge_network(search, line);
		else
			judge_limit(search, &phrases[i]);
		return;
	}
}

void denial_hints_add(const struct plan *plan, const char *profile, const char *cwd,
		      const char *tail, size_t size, struct denial_views *views)
{
	const int index = plan && plan->bytes ? plan_profile_find(plan, profile) : -1;
	struct search search = { .plan = plan, .views = views, .is_clear = true };
	char text[HINT_BYTES + 1];
	char *rest = text;

	if (index < 0 || size > HINT_BYTES)
		return;
	for (uint32_t i = 0; i < views->count; i++)
		search.is_clear = search.is_clear && views->items[i].weight == DENIAL_PROBED;
	search.profile = plan_profile(plan, (uint32_t)index);
	search.cwd = cwd && cwd[0] == '/' ? cwd : plan_string(plan, search.profile->cwd);
	for (size_t i = 0; i < size; i++)
		text[i] = (char)(tail[i] ? tail[i] : ' ');
	text[size] = '\0';
	for (uint32_t i = 0; i < LINES_MAX && rest; i++)
		judge_line(&search, strsep(&rest, "\r\n"));
	for (uint32_t i = 0; i < views->count; i++) {
		if (views->items[i].is_inferred)
			views->other[0] = '\0';
	}
}
