/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/execute.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ask/ask.h"
#include "ask/recent.h"
#include "ask/session.h"
#include "ask/signals.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/refusal.h"
#include "common/log.h"
#include "common/text/format.h"
#include "common/text/names.h"
#include "launcher/host/holder.h"
#include "show/confirm.h"

/* As much of a command as hints are found in. */
#define COMMAND_LINE_MAX 2048

static struct ipc_execution_start start;
static struct capture captures[2]; /* stdout and stderr, with --json */

static void add_captured(void *context, bool is_stderr, const uint8_t *bytes, size_t size)
{
	struct capture *list = context;

	capture_add(&list[is_stderr], bytes, size);
}

static const struct session_taker capture_taker = { .context = captures, .output = add_captured };

/* Write the words with a space between two, as many as fit. */
static void join_words(char *const *words, char *ret, size_t size)
{
	size_t used = 0;

	ret[0] = '\0';
	for (; *words && used + strlen(*words) + 2 < size; words++, used += strlen(ret + used))
		format_text(ret + used, size - used, "%s%s", used > 0 ? " " : "", *words);
}

static struct outcome_request describe_request(const struct execute *what)
{
	static char line[COMMAND_LINE_MAX];

	join_words(what->words, line, sizeof(line));
	return (struct outcome_request){ .command = what->words[0],
					 .line = line,
					 .profile = what->profile,
					 .no_hosts = what->no_hosts,
					 .is_variable = what->is_variable,
					 .sandbox = what->sandbox,
					 .cwd = what->options->cwd,
					 .timeout_ms = what->options->timeout_ms };
}

/* The workload's terminal is of the caller's kind; a held one of the kind that most have. */
static void add_term(struct environment *environment, bool is_held)
{
	const char *term = getenv("TERM");
	char entry[80];

	if (!term && is_held)
		term = "xterm-256color";
	if (!term || strlen(term) > 64)
		return;
	format_text(entry, sizeof(entry), "TERM=%s", term);
	/* Refused when --env has one already: that is the one to use. */
	(void)option_set_environment(environment, entry);
}

/* The workload may ask for its terminal's size before we hold its master side. */
static void add_size(const struct winsize *held)
{
	struct winsize size;

	if (held)
		size = *held;
	else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
		return;
	start.tty_rows = size.ws_row;
	start.tty_columns = size.ws_col;
}

/* The request; -1 with a message when the command line is too long. */
static int fill_start(const struct execute *what)
{
	struct execute_options *options = what->options;
	const bool use_tty = what->size || execute_uses_tty(what);

	if (use_tty) {
		add_term(&options->environment, what->size != NULL);
		add_size(what->size);
	}
	start.timeout_ms = options->timeout_ms;
	start.no_hosts = what->no_hosts && !what->sandbox;
	start.use_tty = use_tty ? 1 : 0;
	format_text(start.profile, sizeof(start.profile), "%s", what->profile);
	format_text(start.sandbox, sizeof(start.sandbox), "%s", what->sandbox ? what->sandbox : "");
	format_text(start.cwd, sizeof(start.cwd), "%s", options->cwd ? options->cwd : "");
	for (char *const *word = what->words; *word; word++) {
		const size_t size = strlen(*word) + 1;

		if (size > sizeof(start.argv) - start.argv_size)
			return log_fail(-1,
					"the command line is longer than %d bytes: pass large data "
					"through standard input or a file%s",
					IPC_ARGV_MAX, what->sandbox ? "" : " with --ro");
		memcpy(start.argv + start.argv_size, *word, size);
		start.argv_size += (uint32_t)size;
	}
	memcpy(start.environment, options->environment.bytes, options->environment.size);
	start.environment_size = options->environment.size;
	return 0;
}

int execute_finish(const struct execute *what, const struct outcome *outcome)
{
	struct outcome_request request = describe_request(what);
	char holder[HOLDER_TEXT_MAX];
	int code = outcome_exit_code(outcome);

	if (what->sandbox && outcome->is_refused &&
	    outcome->refused.reason == REFUSAL_SANDBOX_ELSEWHERE)
		request.holder = holder_describe(outcome->refused.detail, what->sandbox, holder);
	outcome_explain(outcome, &request);
	if (what->options->is_verbose) {
		if (what->sandbox && outcome->is_done) { /* its profile is known by now */
			outcome_print_posture(outcome, &request);
			outcome_print_measured(outcome);
		}
		outcome_print_end(outcome);
	}
	if (what->options->has_timings)
		outcome_print_timings(outcome);
	if (what->options->is_json && outcome->is_done && !outcome->signal) {
		const int error = outcome_print_json(outcome, &request, captures);

		if (error == -EPIPE)
			code = MSP_EXIT_SIGNAL_BASE + SIGPIPE;
		else if (error)
			code = log_fail(MSP_EXIT_SOFTWARE, "%s", errno_text(-error));
	}
	return code;
}

void execute_report_end(const struct execute *what, const struct outcome *outcome, int code)
{
	const uint32_t verdict = outcome->is_done ? outcome->done.verdict : VERDICT_COUNT;

	if (what->keeper)
		what->keeper->ended(what->keeper->taker.context, verdict, code);
}

/* Ask whom we are attached to; and, as long as a service does not welcome us, whoever comes instead
 * of it. 0, or the exit code. */
static int run_attached(struct attachment *attachment, const sigset_t *mask, int signals,
			struct session_options *options, const struct outcome_request *request,
			struct outcome *ret)
{
	int code = attach_open(attachment, mask);

	while (!code) {
		const bool is_service = attach_is_service(attachment);

		options->limits = attachment->limits;
		options->answer_ms = is_service ? SERVICE_ANSWER_MS : 0;
		*ret = session_run(options, attachment->channel, signals, &start, request);
		ret->is_service = is_service;
		if (!is_service || ret->is_welcome || ret->signal || ret->relay_name)
			break;
		code = attach_fall_back(attachment, mask, ret->turned_away,
					ret->is_supervisor_gone);
	}
	return code;
}

static struct session_options session_options(const struct execute *what, uint64_t launched_us)
{
	struct session_options options = { .use_tty = execute_uses_tty(what),
					   .is_shell = what->is_shell,
					   .launched_us = launched_us,
					   .is_verbose = what->options->is_verbose,
					   .taker = what->keeper ? &what->keeper->taker : NULL };

	if (what->options->is_json) {
		capture_init(&captures[0]);
		capture_init(&captures[1]);
		options.taker = &capture_taker;
	}
	return options;
}

static int follow_command(const struct execute *what, struct attachment *attachment,
			  uint64_t launched_us)
{
	struct session_options options = session_options(what, launched_us);
	const struct outcome_request request = describe_request(what);
	struct outcome outcome;
	sigset_t before;
	const int signals = signals_block(options.use_tty, &before);
	int code;

	if (signals < 0)
		return log_fail(MSP_EXIT_SANDBOX, "%s", errno_text(-signals));
	code = run_attached(attachment, &before, signals, &options, &request, &outcome);
	if (code)
		return code;
	outcome.supervisor_status = attach_close(attachment);
	if (what->sandbox && outcome.is_refused)
		recent_explain(what->sandbox, start.sandbox, &outcome.refused);
	code = execute_finish(what, &outcome);
	execute_report_end(what, &outcome, code);
	fd_close(&outcome.plan);
	return code;
}

bool execute_uses_tty(const struct execute *what)
{
	return !what->options->is_json && confirm_is_possible();
}

int execute_prepare(const struct execute *what)
{
	return fill_start(what) == 0 ? 0 : MSP_EXIT_USAGE;
}

void execute_start_in(const char *cwd)
{
	format_text(start.cwd, sizeof(start.cwd), "%s", cwd);
}

void execute_within(const struct execute *what, struct asking *asking, uint64_t launched_us,
		    struct outcome *ret)
{
	const struct session_joined joined = { .client = &asking->talk.client,
					       .welcome = asking->welcome,
					       .plan = asking->plan };
	struct session_options options = session_options(what, launched_us);
	const struct outcome_request request = describe_request(what);

	asking->plan = -1;
	format_text(start.sandbox, sizeof(start.sandbox), "%s", what->sandbox);
	options.joined = &joined;
	start.request = ++asking->request;
	*ret = session_run(&options, asking->attachment.channel, asking->talk.signals, &start,
			   &request);
	asking->request++; /* the session's second number */
	ret->is_service = attach_is_service(&asking->attachment);
	if (ret->is_supervisor_gone)
		ret->supervisor_status = attach_close(&asking->attachment);
}

int execute(const struct execute *what)
{
	struct attachment attachment = { .options = &what->options->attach,
					 .binds = what->binds,
					 .is_piped = true,
					 .is_persistent = what->sandbox != NULL,
					 .expected_profile = what->sandbox ? NULL : what->profile,
					 .no_hosts = what->no_hosts,
					 ATTACHMENT_NONE };
	const uint64_t launched_us = clock_now_us();
	int code;

	if (fill_start(what) != 0)
		return MSP_EXIT_USAGE;
	start.request = 1;
	code = attach_prepare(&attachment);
	if (!code)
		code = recent_resolve(start.sandbox,
				      what->options->is_json ? NULL : &recent_confirm);
	return code ? code : follow_command(what, &attachment, launched_us);
}
