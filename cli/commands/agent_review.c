/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of an agent's run: what it changed, and one question to the person.
 */
#include <stdio.h>
#include <string.h>

#include "ask/ask.h"
#include "commands/agent.h"
#include "commands/review.h"
#include "common/ipc/ipc_changes.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/state_place.h"
#include "options/everywhere.h"
#include "show/change_text.h"
#include "show/pager.h"
#include "show/quote.h"

/* So many held files are named. */
#define HELD_NAMED 5

struct review {
	struct agent_run *run;
	struct asking asking;
	uint64_t changes, held;
	char names[HELD_NAMED][256]; /* of held files; a longer one is cut */
};

static void count_change(void *context, const struct change *change)
{
	struct review *review = context;

	if (change->is.flags & CHANGE_IS_DIRECTORY)
		return;
	review->changes++;
	if (!(change->is.flags & CHANGE_IS_HELD))
		return;
	if (review->held < HELD_NAMED)
		format_text(review->names[review->held], sizeof(review->names[0]), "%s",
			    change_path(change));
	review->held++;
}

/* Count the changes. 0, or the exit code after a line. */
static int count_changes(struct review *review)
{
	static const struct ask_handlers handlers = { .on_change = count_change };
	static struct question question = { .kind = ASK_CHANGES, .act = "comparing files" };
	int code;

	question.words.sandbox = review->run->record.id;
	question.is.changes.operation = CHANGES_DIFF;
	question.paths = "";
	code = ask(&review->asking, &question, &handlers, review);
	return code ? code : change_explain_error(&review->asking.done);
}

/* Begin the conversation, and count. 0, or the exit code after a line. */
static int begin_review(struct agent_run *run, struct review *review)
{
	int code;

	review->run = run;
	code = ask_begin(&review->asking, &run->options->execute.attach);
	return code ? code : count_changes(review);
}

static void say_kept(const struct review *review)
{
	const struct agent_record *record = &review->run->record;
	const char *sandbox = record->sandbox[0] ? record->sandbox : record->id;
	char call[AGENT_CALL_MAX], count[96] = "no file changed; ";

	if (review->changes > 0)
		format_text(count, sizeof(count), "%llu file%s changed, ",
			    (unsigned long long)review->changes, review->changes == 1 ? "" : "s");
	everywhere_note("%skept as \"%s\": 'msp agent %s' goes on with it%s%s%s%s%s%s", count,
			sandbox, agent_call(record, call),
			review->changes > 0 ? ", 'msp diff " : "",
			review->changes > 0 ? sandbox : "",
			review->changes > 0 ? "' shows the changes, 'msp apply " : "",
			review->changes > 0 ? sandbox : "",
			review->changes > 0 ? "' takes them over" : "", "");
}

/* Name what a program of this machine would run by itself. */
static void say_held(const struct review *review)
{
	const uint64_t named = review->held < HELD_NAMED ? review->held : HELD_NAMED;

	for (uint64_t i = 0; i < named; i++)
		log_line("held, since a tool of this machine runs it by itself: %s",
			 review->names[i]);
	if (review->held > named)
		log_line("and %llu more", (unsigned long long)(review->held - named));
}

static void show_changes(struct review *review)
{
	struct pager pager;

	if (!pager_open(&pager))
		return;
	(void)review_diff(&review->asking, review->run->record.id);
	pager_close(&pager);
}

/* Throw the sandbox away, with all that the agent knows in it. The exit code. */
static int discard_sandbox(struct review *review)
{
	static struct question question = { .kind = ASK_END, .is.end.how = SANDBOX_END_DESTROY };
	const struct agent_record *record = &review->run->record;
	char text[STATE_PLACE_TEXT_MAX];
	int code;

	question.words.sandbox = record->id;
	code = ask(&review->asking, &question, NULL, NULL);
	if (code)
		return code;
	(void)agent_record_drop(record->id, text); /* else the next start finds it gone */
	everywhere_note("the sandbox is gone, with the changes%s and the agent's sessions",
			record->has_login ? ", its login" : "");
	return 0;
}

/* The person's answer, in the order of its words. */
enum answer { ANSWER_APPLY, ANSWER_KEEP, ANSWER_DISCARD, ANSWER_COUNT };
static const char *const answers[ANSWER_COUNT] = { "apply", "keep", "discard" };

/* Ask what becomes of the changes, and do it. The exit code. */
static int decide(struct review *review)
{
	const struct agent_record *record = &review->run->record;
	char text[IPC_PATH_MAX + 128];
	size_t answer = ANSWER_KEEP;
	int code;

	format_text(text, sizeof(text), "Take over the changes of %llu file%s into %s?",
		    (unsigned long long)review->changes, review->changes == 1 ? "" : "s",
		    quote_shown(record->project, strlen(record->project)));
	code = ask_words(&review->asking, text, answers, ANSWER_COUNT, &answer);
	if (code)
		return code;
	if (answer == ANSWER_DISCARD)
		return discard_sandbox(review);
	if (answer == ANSWER_APPLY) {
		code = review_apply(&review->asking, record->id);
		if (!code)
			review->changes = 0;
	}
	if (code || answer != ANSWER_APPLY)
		say_kept(review);
	return code;
}

int agent_review(struct agent_run *run)
{
	static struct review review;
	int code = begin_review(run, &review);

	if (!code && review.changes > 0) {
		show_changes(&review);
		say_held(&review);
		code = decide(&review);
	} else if (!code) {
		say_kept(&review);
	}
	return ask_end(&review.asking, code);
}

int agent_count(struct agent_run *run)
{
	static struct review review;
	const int code = begin_review(run, &review);

	if (!code)
		say_kept(&review);
	return ask_end(&review.asking, code);
}
