/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp audit`: what the supervisors have recorded, and whether it is as they wrote it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "audit/audit_follow.h"
#include "audit/audit_verify.h"
#include "common/log.h"
#include "launcher/start/launch.h"
#include "options/command.h"

/* Records that show prints, unless --last says how many. */
#define LAST_DEFAULT 50

/* Old records that follow prints first. */
#define FOLLOW_LAST 10

#define EXIT_FOUND 1 /* the log is not as it was written */

struct audit_options {
	const char *run_as;
	uint64_t last;
	bool is_json;
};

#define ROW(option, value, setter, member, text)                                                   \
	OPTION(struct audit_options, option, value, setter, member, text)

static const struct option_row rows[] = {
	{ .name = "last",
	  .argument = "N",
	  .set = option_set_last,
	  .offset = offsetof(struct audit_options, last),
	  .help = "show: the last N records (the default: 50), 0 for all; -n N is the same",
	  .letter = 'n' },
	ROW("json", NULL, option_set_flag, is_json,
	    "show, follow: print the records as they are in the log, JSON lines"),
	OPTION_RUN_AS(struct audit_options, run_as),
};

static const char help[] =
	"The supervisor records what it starts, refuses and ends, in files of the user\n"
	"alone: sizes and hashes of what was asked for, and the words of commands only\n"
	"where the operator's configuration says 'audit: {commands: text}'.\n"
	"\n"
	"  show    print the last records\n"
	"  verify  check that no record was changed, removed, moved or put in; the exit\n"
	"          code is 0 when all are as they were written, and 1 when not\n"
	"  follow  print records as they are written, also when files are rotated\n"
	"\n"
	"The log is in MSP_STATE_DIR/audit, or else in ~/.local/state/msp/audit, or, for\n"
	"an account without a home of its own, in /var/lib/msp/UID/audit.\n";

static int give_up(const char *action, const char *text, int code)
{
	log_line("audit %s: %s", action, text);
	return code;
}

static struct audit_taker printer_of(const struct audit_options *options)
{
	return (struct audit_taker){ .take = options->is_json ? audit_print_json : audit_print };
}

/* The last records of all files; false when some lines were none. */
static bool print_last(const struct audit_options *options, const struct audit_log *log,
		       uint64_t last)
{
	const uint64_t lines = last == UINT64_MAX ? 0 : audit_log_lines(log);
	const struct audit_taker taker = printer_of(options);
	uint64_t bad;

	return audit_log_each(log, lines > last ? lines - last : 0, &taker, &bad) == 0 && bad == 0;
}

static int run_show(const struct audit_options *options, const struct audit_log *log)
{
	const bool is_good = print_last(options, log, options->last);

	if (fflush(stdout) != 0)
		return give_up("show", "standard output cannot be written", MSP_EXIT_SOFTWARE);
	return is_good ? 0 : EXIT_FOUND;
}

static int run_follow(const struct audit_options *options, const struct audit_log *log)
{
	const struct audit_taker taker = printer_of(options);
	int error;

	(void)print_last(options, log, FOLLOW_LAST);
	error = audit_follow(log, &taker);
	return error == -EPIPE ? MSP_EXIT_SIGNAL_BASE + 13
			       : give_up("follow", errno_text(-error), MSP_EXIT_SOFTWARE);
}

static int run_verify(const struct audit_options *options, const struct audit_log *log)
{
	struct audit_verdict verdict;
	const int error = audit_verify(log, &verdict);

	(void)options;
	if (error)
		return give_up("verify", "the log cannot be read", MSP_EXIT_SOFTWARE);
	if (!log->is_locked && log->has_head)
		log_line(
			"audit verify: a process keeps the log's lock, as if it were stopped while "
			"it writes; this is the log as it is");
	(void)printf("%llu records in %u file%s: ", (unsigned long long)verdict.records, log->count,
		     log->count == 1 ? "" : "s");
	if (verdict.findings == 0)
		(void)fputs("the chain is whole", stdout);
	else
		(void)printf("%llu finding%s", (unsigned long long)verdict.findings,
			     verdict.findings == 1 ? "" : "s");
	if (verdict.torn > 0)
		(void)printf("; %llu torn by writers that were killed",
			     (unsigned long long)verdict.torn);
	(void)putchar('\n');
	if (fflush(stdout) != 0)
		return give_up("verify", "standard output cannot be written", MSP_EXIT_SOFTWARE);
	return verdict.findings == 0 ? 0 : EXIT_FOUND;
}

static const struct action {
	const char *name;
	int (*run)(const struct audit_options *options, const struct audit_log *log);
} actions[] = {
	{ "show", run_show },
	{ "verify", run_verify },
	{ "follow", run_follow },
};

#define ACTION_COUNT (sizeof(actions) / sizeof(actions[0]))

static int run_action(const struct action *action, const struct audit_options *options)
{
	char text[STATE_PLACE_TEXT_MAX];
	struct audit_log log;
	int code;

	if (!audit_log_find(&log, text))
		return give_up(action->name, text, MSP_EXIT_REFUSED);
	code = action->run(options, &log);
	audit_log_done(&log);
	return code;
}

static int run_audit(const struct command *command, int argc, char *argv[])
{
	struct audit_options options = { .last = LAST_DEFAULT };
	const struct action *action;
	struct command_words words = { .most = 1 };
	struct config config = CONFIG_UNREAD;
	char text[LAUNCH_TEXT_MAX];
	const char *word;
	int code;

	if (!command_parse_words(command, argc, argv, &options, &words, &code))
		return code;
	word = words.list[0];
	action = command_find_action(command, word, actions, sizeof(actions[0]), ACTION_COUNT,
				     &code);
	if (!action)
		return code;
	if (launch_standard_fds() < 0)
		return give_up(word, "/dev/null cannot be opened", MSP_EXIT_SOFTWARE);
	if (launch_drop_root(options.run_as, &config, &code, text) != 0)
		return give_up(word, text, code);
	return run_action(action, &options);
}

const struct command command_audit = {
	.name = "audit",
	.operands = "show | verify | follow",
	.summary = "show and check the audit log",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true },
	.run = run_audit,
};
