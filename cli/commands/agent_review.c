/* SPDX-License-Identifier: Apache-2.0
 *
 * The changes of agents: at the end of a run with one question to the person, and for `msp agent
 * status`.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ask/ask.h"
#include "ask/project.h"
#include "commands/agent.h"
#include "commands/review.h"
#include "common/ipc/ipc_changes.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/state_place.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "show/change_text.h"
#include "show/pager.h"
#include "show/quote.h"
#include "show/rows.h"

/* So many held files are named. */
#define HELD_NAMED 5

/* A supervisor whose keeper was killed gives the sandbox up far sooner. */
#define LEAVE_MS 5000
#define STEP_MS 100

struct review {
	struct agent_run *run;
	struct asking asking;
	uint64_t changes, held;
	char names[HELD_NAMED][256]; /* held files; a longer name is cut */
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
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };
	int tries = LEAVE_MS / STEP_MS;
	int code;

	question.words.sandbox = review->run->record.id;
	question.is.changes.operation = CHANGES_DIFF;
	question.paths = "";
	do {
		question.is_tried = tries > 1; /* the last one says why */
		code = ask(&review->asking, &question, &handlers, review);
	} while (code && ask_is_elsewhere(&review->asking) && --tries > 0 &&
		 nanosleep(&step, NULL) == 0);
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

static void print_kept(const struct review *review)
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
static void print_held(const struct review *review)
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
static int ask_decision(struct review *review)
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
		print_kept(review);
	return code;
}

int agent_review(struct agent_run *run)
{
	static struct review review;
	int code = begin_review(run, &review);

	if (!code && review.changes > 0) {
		show_changes(&review);
		print_held(&review);
		code = ask_decision(&review);
	} else if (!code) {
		print_kept(&review);
	}
	return ask_end(&review.asking, code);
}

int agent_count(struct agent_run *run)
{
	static struct review review;
	const int code = begin_review(run, &review);

	if (!code)
		print_kept(&review);
	return ask_end(&review.asking, code);
}

/* --- status ----------------------------------------------------------------------------------- */

struct status {
	struct asking asking;
	struct project project;
	struct rows rows;
	struct ipc_sandbox_info info;
	uint64_t changes;
	uint32_t count;
	int code;
};

static void count_file(void *context, const struct change *change)
{
	struct status *status = context;

	if (!(change->is.flags & CHANGE_IS_DIRECTORY))
		status->changes++;
}

static void store_info(void *context, const struct ipc_sandbox_info *info)
{
	((struct status *)context)->info = *info;
}

/* Ask about one sandbox. False: nothing is known of its changes. */
static bool ask_about(struct status *status, const struct agent_record *record)
{
	static const struct ask_handlers changes = { .on_change = count_file };
	static const struct ask_handlers infos = { .on_sandbox = store_info };
	static struct question question;

	question = (struct question){ .kind = ASK_LIST, .words = { .sandbox = record->id } };
	format_text(question.is.head.sandbox, sizeof(question.is.head.sandbox), "%s", record->id);
	status->changes = 0;
	memset(&status->info, 0, sizeof(status->info));
	if (ask(&status->asking, &question, &infos, status) != 0 || status->info.is_elsewhere)
		return false;
	question = (struct question){ .kind = ASK_CHANGES, .words = { .sandbox = record->id } };
	question.is.changes.operation = CHANGES_DIFF;
	question.paths = "";
	question.is_tried = true;
	return ask(&status->asking, &question, &changes, status) == 0 &&
	       status->asking.done.error == 0;
}

static void show_record(void *context, const struct agent_record *record)
{
	struct status *status = context;
	const uint64_t since_s = agent_runs_since(record);
	char call[AGENT_CALL_MAX], count[32] = "";

	if (ask_is_over(&status->asking) || !project_has(&status->project, record->project) ||
	    !agent_has_sandbox(record))
		return;
	if (ask_about(status, record))
		format_text(count, sizeof(count), "%llu", (unsigned long long)status->changes);
	status->count++;
	rows_next(&status->rows);
	rows_text(&status->rows, "AGENT", NULL, agent_call(record, call));
	rows_text(&status->rows, "SANDBOX", NULL, record->sandbox);
	rows_text(&status->rows, "COMMAND", NULL, since_s > 0 ? record->command : "");
	if (since_s > 0)
		rows_moment(&status->rows, "SINCE", NULL, since_s);
	else
		rows_text(&status->rows, "SINCE", NULL, "");
	rows_text(&status->rows, "CHANGED", NULL, count);
	rows_moment(&status->rows, "USED", NULL, status->info.used_s);
	rows_moment(&status->rows, "EXPIRES", NULL, status->info.expires_s);
}

int agent_status(const struct agent_options *options)
{
	static struct status status;
	char text[STATE_PLACE_TEXT_MAX];
	int code;

	project_find(&status.project);
	code = ask_begin(&status.asking, &options->execute.attach);
	rows_begin(&status.rows, "agents");
	if (!code && agent_records_each(show_record, &status, text) != 0)
		code = log_fail(MSP_EXIT_REFUSED, "the sandboxes of agents are not known: %s",
				text);
	code = ask_end(&status.asking, code);
	rows_end(&status.rows);
	if (!code && status.count == 0)
		everywhere_note("no agent has a sandbox over this project: 'msp agent list' shows "
				"those that are known");
	else if (!code)
		everywhere_note("'msp logs SANDBOX' shows what ran in one, and the hosts that it "
				"asked for");
	return code ? code : command_judge_output(rows_finish(&status.rows), 0);
}
