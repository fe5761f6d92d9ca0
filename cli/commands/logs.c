/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp logs`: what happened in a persistent sandbox, also in one that is gone, from the audit log.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "ask/attach.h"
#include "ask/recent.h"
#include "audit/audit_read.h"
#include "audit/sandbox_history.h"
#include "audit/sandbox_log.h"
#include "commands/sandboxes.h"
#include "common/ipc/ipc_persistent.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/start/config.h"
#include "launcher/start/launch.h"
#include "options/command.h"
#include "options/sandbox_search.h"
#include "show/print.h"

#define EXIT_FOUND 1 /* a line of the log is no record */

struct logs_options {
	struct attach_options attach;
	uint64_t last;
	bool is_json;
	bool is_follow;
};

#define ROW(option, value, setter, member, text)                                                   \
	OPTION(struct logs_options, option, value, setter, member, text)

static const struct option_row rows[] = {
	OPTION_LETTER(struct logs_options, 'n', "last", "N", option_set_last, last,
		      "the last N lines, 0 for all (the default); -n N is the same"),
	ROW("follow", NULL, option_set_flag, is_follow,
	    "go on with what happens, until the sandbox is gone"),
	ROW("json", NULL, option_set_flag, is_json,
	    "print the sandbox's records as they are in the audit log, JSON lines"),
	ATTACH_ROWS(struct logs_options, attach),
};

static const char help[] =
	"Show what happened in SANDBOX, a line for each thing: how it was made, what was\n"
	"executed in it and how that ended, what was refused to it, checkpoints,\n"
	"rollbacks, forks, applies, and its end. It comes from the audit log, and the\n"
	"commands come from the sandbox's own history, which has the newest 1,024 or\n"
	"more and is removed with the sandbox. For others there are sizes and hashes. No\n"
	"environment and no output is kept.\n"
	"\n"
	"The second column is the number of the record in the log, for what has a begin\n"
	"and an end that of the begin: 'msp audit show -n 0' has all of it. sha256 is\n"
	"that of the arguments, with a NUL after each, or of the code.\n"
	"\n"
	"SANDBOX is the name, the id, or the first four or more characters of the id.\n"
	"The log holds no names: one that is gone is named by its id. The exit code is\n"
	"  0   it was shown\n"
	"  1   the same, and a line of the log is no record: see 'msp audit verify'\n"
	"  64  the command line is wrong, or there is and was no such sandbox\n"
	"  70  standard output cannot be written\n"
	"  78  there is no audit log, or it has nothing of this sandbox\n";

/* The sandbox that is meant. */
struct search {
	const char *word;
	bool is_beginning; /* it can be that of an id */
	bool is_known;     /* there is one */
	uint32_t found;    /* ids that begin with it; more than 1: several */
	char id[IPC_ID_MAX];
};

static void found_id(struct search *search, const char *id, size_t size)
{
	if (size != IPC_ID_MAX - 1 || strncmp(id, search->word, strlen(search->word)) != 0 ||
	    strncmp(id, search->id, size) == 0)
		return;
	search->found++;
	format_text(search->id, sizeof(search->id), "%.*s", (int)size, id);
}

/* Take an id of the log. */
static bool take_id(void *context, const char *line, size_t size)
{
	struct audit_value value;

	if (audit_value_find(line, size, "sandbox", &value) && value.is_text)
		found_id(context, value.value, value.size);
	return true;
}

/* A name is the user's own; an id may be anybody's. */
static void on_sandbox(void *context, const struct ipc_sandbox_info *info)
{
	struct search *search = context;

	if (!search->is_known && info->owner[0] == '\0' && strcmp(info->name, search->word) == 0) {
		search->is_known = true;
		format_text(search->id, sizeof(search->id), "%s", info->id);
	} else if (!search->is_known && search->is_beginning) {
		found_id(search, info->id, strlen(info->id));
	}
}

static int ask_for_it(const struct logs_options *options, struct search *search)
{
	sigset_t before;
	int code;

	(void)sigprocmask(SIG_SETMASK, NULL, &before); /* cannot fail: it only asks */
	code = sandboxes_each(&options->attach, true, on_sandbox, search);
	(void)sigprocmask(SIG_SETMASK, &before, NULL); /* signals end the rest again */
	search->is_known |= search->found == 1;
	return code;
}

static int refuse_word(const struct search *search)
{
	if (search->found > 1)
		log_line("'%s' is no sandbox: several ids begin with it: type more of the one that "
			 "is meant",
			 search->word);
	else
		log_line("there is no sandbox '%s', and the audit log has none whose id begins so; "
			 "'msp list' shows those that there are. The log holds no names: one that "
			 "is gone is named by its id",
			 search->word);
	return MSP_EXIT_USAGE;
}

/* Find the sandbox: ids are in the log, names only a supervisor knows. 0 with the id in `search`,
 * or the exit code after a line. */
static int find_sandbox(const struct logs_options *options, const struct audit_log *log,
			struct search *search)
{
	const struct audit_taker taker = { .take = take_id, .context = search, .is_quiet = true };
	struct sandbox_search id;
	uint64_t bad;
	int code;

	search->is_beginning = sandbox_search_begin(&id, search->word);
	if (search->is_beginning && strlen(search->word) == IPC_ID_MAX - 1)
		(void)audit_log_each(log, 0, &taker,
				     &bad); /* a failure is reported when it is shown */
	if (search->found == 1)
		return 0;
	code = ask_for_it(options, search);
	if (code || search->is_known)
		return code;
	if (search->is_beginning && search->found == 0)
		(void)audit_log_each(log, 0, &taker, &bad);
	return search->found == 1 ? 0 : refuse_word(search);
}

static int give_up(int error)
{
	return log_fail(error == -EPIPE ? MSP_EXIT_SIGNAL_BASE + SIGPIPE : MSP_EXIT_SOFTWARE,
			"standard output: %s", errno_text(-error));
}

static int follow_log(const struct audit_log *log, struct sandbox_log *history)
{
	const struct audit_taker taker = { .take = sandbox_log_take, .context = history };
	const int error = audit_follow(log, &taker);

	return error ? give_up(error) : 0;
}

/* Once to count, where only the last lines are wanted, and once to show. */
static int show_log(const struct logs_options *options, const struct audit_log *log,
		    const struct search *search)
{
	static struct sandbox_log history;
	struct audit_taker taker = { .take = sandbox_log_take, .context = &history };
	uint64_t bad = 0;
	int error = 0;

	sandbox_history_open(log->directory, search->id);
	history = (struct sandbox_log){ .id = search->id, .is_json = options->is_json };
	if (options->last != UINT64_MAX) {
		history.skip = UINT64_MAX;
		taker.is_quiet = true;
		error = audit_log_each(log, 0, &taker, &bad);
		if (!options->is_follow)
			sandbox_log_finish(&history);
		taker.is_quiet = false;
		history = (struct sandbox_log){
			.id = search->id,
			.is_json = options->is_json,
			.skip = history.lines > options->last ? history.lines - options->last : 0,
		};
	}
	if (!error)
		error = audit_log_each(log, 0, &taker, &bad);
	if (error)
		return log_fail(MSP_EXIT_SOFTWARE, "the audit log cannot be read: %s",
				errno_text(-error));
	if (history.records == 0)
		return log_fail(MSP_EXIT_REFUSED,
				"the audit log has nothing of sandbox %s: it is older than the "
				"oldest record, or nothing was recorded then ('audit: optional' in "
				"the operator's configuration lets msp do without)",
				search->id);
	if (options->is_follow && !history.is_over)
		return follow_log(log, &history);
	sandbox_log_finish(&history);
	error = print_flush();
	if (error)
		return give_up(error);
	return bad > 0 ? EXIT_FOUND : 0;
}

static int run_search(struct logs_options *options, const char *word)
{
	struct search search = { .word = word };
	char text[STATE_PLACE_TEXT_MAX];
	struct audit_log log;
	int code;

	if (!audit_log_find(&log, text))
		return log_fail(MSP_EXIT_REFUSED,
				"there is no audit log: %s. MSP_STATE_DIR=DIR names its place "
				"(msp(1)); with 'audit: required' in the operator's configuration, "
				"the default, msp runs nothing without it",
				text);
	code = find_sandbox(options, &log, &search);
	if (!code)
		code = show_log(options, &log, &search);
	audit_log_done(&log);
	return code;
}

static int run_logs(const struct command *command, int argc, char *argv[])
{
	static struct logs_options options = { .attach.limits = LIMITS_UNSAID, .last = UINT64_MAX };
	static struct command_words words = { .most = 1 };
	char sandbox[IPC_NAME_MAX];
	int code;

	if (!command_parse_sandbox(command, argc, argv, &options, &words, &code))
		return code;
	command_name_lines(command);
	code = launch_become_account(options.attach.config, options.attach.run_as);
	if (code)
		return code;
	options.attach.run_as = NULL; /* that account it is now */
	format_text(sandbox, sizeof(sandbox), "%s", words.list[0]);
	code = recent_resolve(sandbox, options.is_json ? NULL : &recent_confirm);
	return code ? code : run_search(&options, sandbox);
}

const struct command command_logs = {
	.name = "logs",
	.operands = "SANDBOX",
	.summary = "show what happened in a sandbox",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true, .has_recent = true },
	.run = run_logs,
};
