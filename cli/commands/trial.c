/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/trial.h"

#include <stdbool.h>
#include <string.h>

#include "ask/ask.h"
#include "ask/project.h"
#include "ask/recent.h"
#include "ask/repository.h"
#include "commands/review.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/refusal.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/state_place.h"
#include "options/everywhere.h"
#include "show/confirm.h"
#include "show/pager.h"
#include "show/quote.h"

#define KEPT_S 3600

#define INSIDE "/workspace"

/* One trial from its sandbox to its end. */
struct trial {
	const struct trial_options *options;
	struct execute what;
	struct asking asking;
	struct ipc_sandbox_info sandbox;
	struct outcome outcome;
	uint64_t changes;
	bool is_counted; /* `changes` is known */
	bool is_kept;
	bool is_here; /* -1 names it */
};

static bool has_ignored_only(const struct trial *trial)
{
	return trial->is_counted && trial->changes == 0;
}

const char *trial_find_conflict(const struct trial_options *options, bool is_json)
{
	if (!options->workspace && options->is_discarded)
		return "--discard is for --workspace";
	if (!options->workspace && options->is_reviewed)
		return "--review is for --workspace";
	if (options->is_discarded && options->is_reviewed)
		return "--discard and --review exclude each other";
	if (options->is_reviewed && is_json)
		return "--review asks a person, and --json prints for a program: leave one out";
	if (options->is_reviewed && !confirm_is_possible())
		return "--review needs a terminal: without it, 'msp diff -1' shows the changes";
	return NULL;
}

const char *trial_set_workspace(void *member, const char *value)
{
	struct trial_options *options = member;

	options->is_wide = !value;
	return new_sandbox_set_workspace(&options->workspace, value ? value : ".");
}

/* Make the question of its sandbox. 0, or the exit code after a line. */
static int fill_question(const struct trial *trial, const char *workspace,
			 struct question *question)
{
	const char *kept = trial->asking.attachment.kept_name;
	const struct new_sandbox wanted = { .profile = kept[0] ? kept : trial->options->profile,
					    .no_hosts = trial->options->no_hosts,
					    .workspace = workspace,
					    .ttl_s = KEPT_S };

	return new_sandbox_fill(&wanted, question);
}

/* The command starts in the directory that the caller is in, unless --cwd says another. */
static void start_inside(const struct trial *trial, const char *inside)
{
	static char cwd[sizeof(INSIDE) + IPC_PATH_MAX];

	everywhere_note("/workspace shows the repository %s; --workspace=. shows this directory "
			"alone",
			quote_shown(trial->sandbox.workspace, strlen(trial->sandbox.workspace)));
	if (trial->what.options->cwd)
		return;
	format_text(cwd, sizeof(cwd), INSIDE "/%s", inside);
	trial->what.options->cwd = cwd;
	execute_start_in(cwd);
}

/* Ask for the sandbox over this directory, since the policy refuses the repository around it. */
static int ask_narrow(struct trial *trial, struct question *question)
{
	static char reason[IPC_LIST_MAX];
	int code;

	format_text(reason, sizeof(reason), "%s", trial->asking.talk.outcome.refused.detail);
	question->is_wide = false;
	code = fill_question(trial, trial->options->workspace, question);
	if (!code)
		code = new_sandbox_ask(&trial->asking, question, &trial->sandbox);
	if (!code)
		everywhere_note("/workspace shows this directory without its repository: %s",
				reason);
	return code;
}

/* Make its sandbox. 0, or the exit code after a line. */
static int make_sandbox(struct trial *trial)
{
	static struct question question;
	static char root[IPC_PATH_MAX];
	const struct outcome *outcome = &trial->asking.talk.outcome;
	const char *inside = "";
	char text[STATE_PLACE_TEXT_MAX];
	int error;
	int code;

	question.act = trial->what.options->is_json ? NULL : "making the sandbox";
	question.is_wide = trial->options->is_wide && repository_find(root, &inside) && inside[0];
	code = fill_question(trial, question.is_wide ? root : trial->options->workspace, &question);
	if (!code)
		code = ask_begin_new(&trial->asking, &trial->what.options->attach, &question,
				     &trial->options->binds, true, execute_uses_tty(&trial->what));
	if (code)
		return code;
	code = new_sandbox_ask(&trial->asking, &question, &trial->sandbox);
	if (!code && question.is_wide)
		start_inside(trial, inside);
	else if (question.is_wide && outcome->is_refused &&
		 outcome->refused.reason == REFUSAL_WORKSPACE)
		code = ask_narrow(trial, &question);
	if (code)
		return code;
	trial->is_kept = true;
	trial->what.sandbox = trial->sandbox.id;
	/* At once: whoever ends msp by force finds the changes of the command. */
	error = recent_add(trial->sandbox.id, trial->sandbox.workspace, text);
	trial->is_here = !error && project_is_here(trial->sandbox.workspace);
	if (error)
		log_line("-1 will not name the changes of this run, sandbox %s does: %s",
			 trial->sandbox.id, text);
	return 0;
}

static void count_change(void *context, const struct change *change)
{
	struct trial *trial = context;

	if (!(change->is.flags & CHANGE_IS_DIRECTORY))
		trial->changes++;
}

static void count_changes(struct trial *trial)
{
	static const struct ask_handlers handlers = { .on_change = count_change };
	static struct question question = { .kind = ASK_CHANGES };

	question.words.sandbox = trial->sandbox.id;
	question.is.changes.operation = CHANGES_DIFF;
	question.paths = "";
	question.act = trial->what.options->is_json ? NULL : "comparing files";
	trial->is_counted = ask(&trial->asking, &question, &handlers, trial) == 0 &&
			    trial->asking.done.error == 0;
}

static void remove_sandbox(struct trial *trial)
{
	static struct question question = { .kind = ASK_END, .is.end.how = SANDBOX_END_DESTROY };

	question.words.sandbox = trial->sandbox.id;
	if (ask(&trial->asking, &question, NULL, NULL) != 0)
		return;
	trial->is_kept = false;
	(void)recent_drop(trial->sandbox.id); /* else -1 says that it is gone */
}

/* Find out what the command changed; remove what nobody will ask for. */
static void settle_changes(struct trial *trial)
{
	if (trial->outcome.is_supervisor_gone)
		return;
	/* After a signal the caller waits for the end, so that nothing is counted. */
	if (!trial->options->is_discarded && !trial->outcome.signal)
		count_changes(trial);
	if (ask_is_over(&trial->asking))
		return;
	/* A keeper's output is in the sandbox. */
	if (trial->options->is_discarded ||
	    (has_ignored_only(trial) && trial->asking.done.ignored == 0 && !trial->what.keeper))
		remove_sandbox(trial);
	else if (has_ignored_only(trial))
		(void)recent_drop(trial->sandbox.id); /* else -1 names it, too */
}

/* Say which words show the changes. The id is there in each case: -1 is another run soon. */
static void say_kept(const struct trial *trial)
{
	const bool is_one = trial->is_counted && trial->changes == 1;
	const char *id = trial->sandbox.id;
	char count[64] = "the changes are";

	if (trial->is_counted)
		format_text(count, sizeof(count), "%llu file%s changed,",
			    (unsigned long long)trial->changes, is_one ? "" : "s");
	if (has_ignored_only(trial) && trial->asking.done.ignored == 0)
		everywhere_note("no file changed");
	else if (has_ignored_only(trial))
		everywhere_note("only ignored files changed, kept for an hour: 'msp diff --ignored "
				"%s' shows them, 'msp apply --ignored %s' takes them over",
				id, id);
	else
		everywhere_note("%s kept for an hour%s%s: 'msp diff %s' shows %s, 'msp apply %s' "
				"takes %s over",
				count, trial->is_here ? " in " : "", trial->is_here ? id : "",
				trial->is_here ? "-1" : id, is_one ? "it" : "them",
				trial->is_here ? "-1" : id, is_one ? "it" : "them");
}

/* Show the changes and ask. True: they were applied, or it was tried. */
static bool review_changes(struct trial *trial)
{
	struct pager pager;
	char text[IPC_PATH_MAX + 64];
	bool is_yes = false;

	if (pager_open(&pager)) {
		(void)review_diff(&trial->asking, trial->sandbox.id);
		pager_close(&pager);
	}
	format_text(text, sizeof(text), "Apply the changes of %llu file%s to %s?",
		    (unsigned long long)trial->changes, trial->changes == 1 ? "" : "s",
		    trial->sandbox.workspace);
	if (ask_is_over(&trial->asking) || ask_person(&trial->asking, text, &is_yes) != 0 ||
	    !is_yes)
		return false;
	(void)review_apply(&trial->asking, trial->sandbox.id); /* it has said what it did */
	return true;
}

static int finish_trial(struct trial *trial)
{
	int code;

	trial->outcome.workspace = trial->is_kept ? trial->sandbox.id : "";
	trial->outcome.changes = trial->changes;
	code = execute_finish(&trial->what, &trial->outcome);
	if (trial->is_kept &&
	    !(trial->options->is_reviewed && trial->is_counted && review_changes(trial)))
		say_kept(trial);
	execute_report_end(&trial->what, &trial->outcome, code);
	return code;
}

int trial_run(const struct trial_options *options, const struct execute *what)
{
	static struct trial trial;
	const uint64_t launched_us = clock_now_us();
	int code;

	trial.options = options;
	trial.what = *what;
	code = execute_prepare(what);
	if (code)
		return code;
	code = make_sandbox(&trial);
	if (!code) {
		execute_within(&trial.what, &trial.asking, launched_us, &trial.outcome);
		settle_changes(&trial);
		code = finish_trial(&trial);
		fd_close(&trial.outcome.plan);
	}
	return ask_end(&trial.asking, code);
}
