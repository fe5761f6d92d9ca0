/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/denial_hints.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <strings.h>

#include "common/log.h"
#include "frontend/hint_search.h"
#include "frontend/profile_names.h"

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
} silents[] = { { "curl", 6 },       { "curl", 7 },        { "wget", 4 },
		{ "nc", 1 },         { "npm install", 0 }, { "npm ci", 0 },
		{ "npm i ", 0 },     { "npm audit", 0 },   { "npm update", 0 },
		{ "npm view", 0 },   { "npm search", 0 },  { "npm outdated", 0 },
		{ "npx --yes", 0 },  { "npx -y", 0 },      { "npx create-", 0 },
		{ "npm create", 0 }, { "npm exec", 0 },    { "npm init ", 0 } };

/* --- limits and facts ------------------------------------------------------------------------- */

/* Return whether nothing that is known contradicts the message that a limit was reached. A full
 * disk has its count, and so have forks that a cgroup refuses; an allocation that fails far below
 * the limit fails by the program's own wish. */
static bool is_limit_possible(const struct search *search, int error)
{
	const struct hint_source *source = search->source;

	if (error == ENOMEM)
		return source->peak_bytes >= search->profile->memory_bytes / 4 * 3;
	return error == EAGAIN ? !source->is_counted : error != ENOSPC;
}

/* Whether the limit was met, the workload alone says: that there is one, the profile does. */
static bool judge_limit(const struct search *search, const struct finding *finding)
{
	const struct plan_profile *profile = search->profile;
	const int error = finding->phrase->error;
	struct denial_view *view =
		is_limit_possible(search, error)
			? hint_add_view(search, "limits", finding->phrase->says, "")
			: NULL;

	if (!view)
		return true;
	SAY(view->reason, "%s", errno_text(error));
	SAY(view->remedy, "use less, or raise it in the operator's profile");
	if (error == ENOMEM)
		denial_limit(view, "memory", profile->memory_bytes >> 20, " MiB");
	else if (error == EAGAIN)
		denial_limit(view, "pids", profile->pids, "");
	else if (error == EMFILE)
		denial_limit(view, "open_files", profile->open_files, "");
	else if (profile->file_bytes < 1 << 20)
		denial_limit(view, "file_size", profile->file_bytes >> 10, " KiB");
	else
		denial_limit(view, "file_size", profile->file_bytes >> 20, " MiB");
	return true;
}

static bool judge_fact(const struct search *search, const struct finding *finding)
{
	struct denial_view *view = NULL;

	for (uint32_t i = 0; i < search->views->count; i++) {
		if (search->views->items[i].weight == DENIAL_CALLED)
			return true; /* the kernel's own count says more */
	}
	view = hint_add_view(search, "sandbox", "privilege", "");
	if (!view)
		return true;
	view->weight = DENIAL_FACT;
	SAY(view->reason, "%s", finding->phrase->says);
	SAY(view->remedy, "none: no profile can allow it");
	SAY(view->hint, "%s", finding->phrase->says);
	return true;
}

/* Return whether the line shows a line of a source: with its place, its number, or far to the
 * right. */
static bool is_of_source(const char *line)
{
	const size_t indent = strspn(line, " ");
	const size_t number = strspn(line + indent, "0123456789");
	const char *rest = line + indent + number;

	return indent >= 4 || (number > 0 && strncmp(rest, " |", 2) == 0) ||
	       hint_text_has_place(line);
}

/* Other things have a root as well: a tree, a project. */
static bool judge_root(const struct search *search, const struct finding *finding)
{
	static const char certain[] =
		"are you root|superuser|super-user|modify password information|"
		"elevated privilege|elevated permission";
	static const char user[] =
		"be root|as root|only root|not root|non-root|root user|root priv|"
		"root perm|root access|root right|by root|need root|needs root|"
		"require root|requires root|requiring root|uid 0|with sudo|use sudo|"
		"using sudo|via sudo";
	static const char things[] =
		"root element|root node|root dir|root folder|root path|"
		"root object|root module|root package|root certificate|root of|"
		"root comp|root level|root'|root\"|root key|root cause|root url|root project";
	static const char demands[] =
		"must|need|requir|only|have to|has to|please|try|should|cannot|"
		"can't|denied|not permitted|without";

	if (is_of_source(finding->line))
		return false;
	if (!hint_text_has(finding->line, certain) &&
	    (!hint_text_has(finding->line, user) || !hint_text_has(finding->line, demands) ||
	     hint_text_has(finding->line, things) || hint_text_has(finding->line, "not be ")))
		return false;
	return judge_fact(search, finding);
}

/* Return whether the error's text ends here, or a language's own mark of it follows. */
static bool is_end(const char *rest)
{
	return *rest == '\0' || strchr(".,)'\"", *rest) || strncmp(rest, " (", 2) == 0 ||
	       strncmp(rest, " at ", 4) == 0;
}

/* The kernel's refusal in its own words: a workload owns all that it can reach, so that it lacks a
 * capability. A refused call that was counted would have the same words. */
static bool judge_refusal(const struct search *search, const struct finding *finding)
{
	const char *rest = hint_text_find(finding->words, "permitted");

	if (search->views->count > 0 || !rest || !is_end(rest + strlen("permitted")) ||
	    hint_text_has(search->text, "setsid|setpgid|hard link"))
		return false;
	return judge_fact(search, finding);
}

static bool (*const judges[TOPIC_COUNT])(const struct search *, const struct finding *) = {
	[TOPIC_FACT] = judge_fact,
	[TOPIC_ROOT] = judge_root,
	[TOPIC_REFUSAL] = judge_refusal,
	[TOPIC_PACKAGE] = hint_judge_network,
	[TOPIC_BIND] = hint_judge_bind,
	[TOPIC_SOCKET] = hint_judge_socket,
	[TOPIC_REFUSED] = hint_judge_refused,
	[TOPIC_CONNECT] = hint_judge_connect,
	[TOPIC_NETWORK] = hint_judge_network,
	[TOPIC_LIMIT] = judge_limit,
	[TOPIC_PROJECT] = hint_judge_project,
	[TOPIC_FILE] = hint_judge_file,
	[TOPIC_OPEN] = hint_judge_open,
	[TOPIC_FOREIGN] = hint_judge_foreign,
	[TOPIC_RENAME] = hint_judge_rename,
	[TOPIC_FETCH] = hint_judge_fetch,
	[TOPIC_PROCESS] = hint_judge_process,
};

/* A program that was stopped did not end by its errors: it may have waited for the network. */
static bool is_ending(const struct search *search, enum topic topic)
{
	return !search->source->is_timeout || topic == TOPIC_NETWORK || topic == TOPIC_PACKAGE;
}

static bool is_beside(const struct search *search, const char *line, const struct phrase *phrase)
{
	if (phrase->unless && hint_text_has(search->command, phrase->unless))
		return false;
	return !phrase->beside || hint_text_has(line, phrase->beside) ||
	       hint_text_has(search->command, phrase->beside) ||
	       (phrase->topic == TOPIC_BIND && hint_text_has(search->text, phrase->beside));
}

/* Return whether a test failed by an assertion, of which the text shows both sides. */
static bool shows_assertion(const char *text)
{
	return hint_text_has(text, "assertionerror|err_assertion|assertion failed|assertion `");
}

/* Return whether the line shows one side of a comparison. */
static bool is_compared(const char *line)
{
	return hint_text_find_word(line, "got: |want: |expected: |actual: |received: ") != NULL;
}

/* Return whether the words are quoted in a sentence, as a test shows what it compares. The quotes
 * of a field ("message": "...") are of the message itself, but for those of an assertion. */
static bool is_quoted(const struct search *search, enum topic topic, const char *line,
		      const char *words)
{
	const char *at = words - 1;

	if (topic == TOPIC_PACKAGE || topic == TOPIC_FILE || words == line || !strchr("'\"", *at))
		return false;
	while (at > line && at[-1] == ' ')
		at--;
	return at > line && (at[-1] != ':' || shows_assertion(search->text));
}

/* Return whether the line begins with a test's mark of success. */
static bool is_passed(const char *line)
{
	static const char *const marks[] = { "ok ",        "ok\t",     "[ ok",     "[  ok",
					     "[       ok", "\u2713",   "\u2714",   "\u221a",
					     "pass ",      "pass:",    "passed ",  "pass\t",
					     "--- pass",   "[ passed", "[  passed" };

	line += strspn(line, " ");
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (strncasecmp(line, marks[i], strlen(marks[i])) == 0)
			return true;
	}
	return false;
}

/* Return whether the line is a record of a log at a level of no failure. */
static bool is_of_low_level(const char *line)
{
	static const char levels[] = "level=info|level=debug|level=trace|\"level\":\"info\"|"
				     "\"level\": \"info\"|\"level\":\"debug\"|"
				     "\"level\": \"debug\"|[info]|[debug]|[trace]|<info>|<debug>";
	static const char *const names[] = { "INFO", "DEBUG", "TRACE" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *at = strstr(line, names[i]);
		const char *end = at ? at + strlen(names[i]) : "";

		if (at && (at == line || strchr(" \t[(|:", at[-1])) && *end &&
		    strchr(" \t:])|", *end))
			return true;
	}
	return hint_text_has(line, levels);
}

/* Return whether the line speaks of a failure that the program wanted: a test's, or a log's that
 * goes on. Its words are no reason. */
static bool is_remark(const char *line)
{
	static const char remarks[] =
		"(expected|(as expected|(simulated|(mock|(fake|(injected|(intentional|(ignored|"
		"(ignoring|(handled|(harmless|(non-fatal|(nonfatal|(test|(dry|[mock|[simulated|"
		"[test]|[expected|simulated |simulating |mocked |mocking |mock:|mock error|"
		"fake error|expected error|expected failure|expects error|expecting |as expected|"
		"should fail|should throw|should raise|should be refused|should return|"
		"injected |fault injection|dry run|dry-run|to throw|raises error";

	return is_passed(line) || is_of_low_level(line) || hint_text_find_word(line, remarks);
}

static void judge_line(const struct search *search, const char *line)
{
	if (is_remark(line))
		return;
	for (size_t i = 0; i < PHRASES; i++) {
		const struct finding finding = { &phrases[i], line,
						 hint_text_find_word(line, phrases[i].words) };

		if (finding.words && !is_quoted(search, phrases[i].topic, line, finding.words) &&
		    is_beside(search, line, &phrases[i]) &&
		    (!is_ending(search, phrases[i].topic) ||
		     judges[phrases[i].topic](search, &finding)))
			return;
	}
}

/* The sandbox or the command itself, by timeout(1), stopped the program. */
static bool is_too_late(const struct search *search)
{
	return search->source->is_timeout || (search->source->exit_code == 124 &&
					      hint_text_find_program(search->command, "timeout "));
}

/* A shell ends with the signal of a program that wrote more than a file may have. */
static void judge_file_size(const struct search *search)
{
	static const struct phrase phrase = { .topic = TOPIC_LIMIT,
					      .error = EFBIG,
					      .says = "file size" };
	const struct finding finding = { &phrase, "", "" };

	if (search->source->exit_code == 128 + SIGXFSZ)
		(void)judge_limit(search, &finding);
}

/* A program that was told to be quiet says nothing but its exit code, or runs out of time. */
static void judge_silence(const struct search *search)
{
	static const struct phrase package = { .topic = TOPIC_PACKAGE };

	for (size_t i = 0; i < sizeof(silents) / sizeof(silents[0]); i++) {
		const char *at = hint_text_find_program(search->command, silents[i].program);
		const struct finding finding = { &package, "", "" }, quiet = { NULL, at, at };
		char host[HINT_TARGET_MAX];
		uint16_t port = 0;

		if (!at)
			continue;
		if (is_too_late(search)) {
			if (silents[i].exit_code == 0)
				(void)hint_judge_network(search, &finding);
		} else if (silents[i].exit_code == search->source->exit_code &&
			   hint_text_command_host(at, host, &port)) {
			(void)hint_judge_refused(search, &quiet);
		}
	}
}

/* --- what is shown ---------------------------------------------------------------------------- */

/* Programs try calls that they can do without: a refused call is the reason of a failure only if
 * the output tells of a refusal or of that call, or if there is no output. For a call that programs
 * probe, the output must tell of EPERM, the filter's answer, or of the call. */
static bool is_reason(const struct denial_view *view, const char *text, bool is_silent)
{
	static const char eperm[] = "not permitted|eperm|errno 1]";
	static const char refusals[] = "permission|superuser|root|privilege|not allowed";

	if (hint_text_find(text, view->operation))
		return true;
	if (view->weight == DENIAL_CALLED)
		return is_silent || hint_text_has(text, eperm) || hint_text_has(text, refusals);
	return !view->is_silent && hint_text_has(text, eperm);
}

static void choose_calls(const struct search *search, const char *text, bool is_silent)
{
	for (uint32_t i = 0; i < search->views->count; i++) {
		struct denial_view *view = &search->views->items[i];

		if (view->weight > DENIAL_FIRST && !is_reason(view, text, is_silent))
			view->weight = DENIAL_LAST;
	}
}

/* Return whether the line is one of a comparison, of files or of an assertion's two sides. */
static bool is_of_diff(const char *line, bool is_output, bool has_assertion)
{
	if (has_assertion)
		line += strspn(line, " ");
	return (is_output || has_assertion) && *line && strchr("+-<>", *line);
}

/* Judge each whole line of a text, the end of which was taken. */
static void judge_text(struct search *search, const char *bytes, size_t size, bool is_output)
{
	static char whole[HINT_BYTES + 1];
	char text[HINT_BYTES + 1], *rest = text;
	bool has_assertion;

	if (size > HINT_BYTES)
		return;
	memcpy(text, bytes, size);
	hint_text_clean(text, size);
	memcpy(whole, text, sizeof(text));
	search->text = whole;
	has_assertion = shows_assertion(whole);
	if (size == HINT_BYTES && strpbrk(text, "\r\n"))
		rest = strpbrk(text, "\r\n");
	while (rest) {
		const char *line = strsep(&rest, "\r\n");

		if (!is_compared(line) && !is_of_diff(line, is_output, has_assertion))
			judge_line(search, line);
	}
}

static bool has_found(const struct denial_views *views)
{
	for (uint32_t i = 0; i < views->count; i++) {
		if (views->items[i].weight < DENIAL_LAST)
			return true;
	}
	return views->note[0] || views->other[0] || views->unreached[0];
}

/* Copy the text in which a program tells why it failed: its errors, or else its output. Return
 * whether it had no errors. */
static bool copy_reason(const struct hint_source *source, char ret[HINT_BYTES + 1])
{
	memcpy(ret, source->tail, source->size);
	hint_text_clean(ret, source->size);
	if (!hint_text_is_blank(ret))
		return false;
	if (source->output) {
		memcpy(ret, source->output, source->output_size);
		hint_text_clean(ret, source->output_size);
	}
	return true;
}

void denial_hints_add(const struct hint_source *source, struct denial_views *views)
{
	struct search search = { .source = source,
				 .profile = profile_find(source->plan, source->profile),
				 .views = views,
				 .command = source->command ? source->command : "",
				 .is_clear = true };
	char reason[HINT_BYTES + 1];
	bool is_silent;

	if (!search.profile || source->size > HINT_BYTES || source->output_size > HINT_BYTES)
		return;
	search.cwd = source->cwd && source->cwd[0] == '/'
			     ? source->cwd
			     : plan_string(source->plan, search.profile->cwd);
	is_silent = copy_reason(source, reason);
	choose_calls(&search, reason, is_silent);
	for (uint32_t i = 0; i < views->count; i++)
		search.is_clear = search.is_clear && views->items[i].weight >= DENIAL_PROBED;
	judge_text(&search, source->tail, source->size, false);
	if (!has_found(views) && source->output)
		judge_text(&search, source->output, source->output_size, true);
	if (!has_found(views) && is_silent)
		judge_silence(&search);
	if (!has_found(views))
		judge_file_size(&search);
	if (!has_found(views))
		hint_judge_command_path(&search, hint_text_is_blank(reason));
	for (uint32_t i = 0; i < views->count; i++) {
		if (views->items[i].is_inferred)
			views->other[0] = views->note[0] = '\0';
	}
}
