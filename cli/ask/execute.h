/* SPDX-License-Identifier: Apache-2.0
 *
 * One command of the caller's in a sandbox, from its options to an exit code: what `msp run` and
 * `msp exec` share.
 */
#ifndef CLI_ASK_EXECUTE_H
#define CLI_ASK_EXECUTE_H

#include "ask/attach.h"
#include "ask/taker.h"
#include "launcher/host/bind.h"
#include "options/options.h"

struct asking;
struct outcome;
struct winsize;

struct execute_options {
	struct attach_options attach;
	const char *cwd;
	uint32_t timeout_ms;
	bool is_json;
	bool is_verbose;
	bool has_timings;
	struct environment environment;
};

/* Rows of their options, for a struct whose `member` is a struct execute_options: of a shell, and
 * of a command, which can also be captured. */
#define SHELL_ROWS(type, member)                                                                   \
	ATTACH_ROW_LIMITS(type, member.attach),                                                    \
		OPTION(type, "timeout", "TIME", option_set_time, member.timeout_ms,                \
		       "end the command after this time, such as 10s or 500ms; never more than "   \
		       "the profile allows"),                                                      \
		OPTION(type, "env", "NAME=VALUE", option_set_environment, member.environment,      \
		       "set a variable; your own environment is not passed on"),                   \
		OPTION(type, "cwd", "DIR", option_set_inside_path, member.cwd,                     \
		       "where to start, inside the sandbox (the default: /workspace)"),            \
		OPTION(type, "timings", NULL, option_set_flag, member.has_timings,                 \
		       "say on stderr where the time went, in microseconds"),                      \
		OPTION(type, "verbose", NULL, option_set_flag, member.is_verbose,                  \
		       "say on stderr what is enforced and how the command ended"),                \
		ATTACH_ROWS(type, member.attach)
#define EXECUTE_ROWS(type, member)                                                                 \
	SHELL_ROWS(type, member), OPTION(type, "json", NULL, option_set_flag, member.is_json,      \
					 "print one JSON object at the end, with what the "        \
					 "command wrote, instead of "                              \
					 "its streams")

/* Takes the output and the end of a command, in place of the caller. */
struct execute_keeper {
	struct session_taker taker;
	/* Called with the end of a command, which was explained on stderr: enum verdict, or
	 * VERDICT_COUNT if there is none, and msp's exit code. */
	void (*ended)(void *context, uint32_t verdict, int code);
};

struct execute {
	struct execute_options *options;
	const struct bind_words *binds;      /* NULL: none */
	const char *profile;                 /* empty: the default one, or the sandbox's */
	bool no_hosts;                       /* without the profile's hosts; of a new sandbox */
	bool is_variable;                    /* MSP_DEFAULT_PROFILE named it */
	const char *sandbox;                 /* persistent; NULL: a new one */
	bool is_shell;                       /* for a person to type commands */
	char *const *words;                  /* the command, with NULL behind it */
	const struct execute_keeper *keeper; /* NULL: the caller's streams */
	const struct winsize *size;          /* a held terminal's; NULL: there is none */
};

/* Do it, with the caller's streams; the exit code of msp. */
int execute(const struct execute *what);

/* Return whether the command gets a terminal of its own, since the caller's streams are one. With a
 * keeper they are none. */
bool execute_uses_tty(const struct execute *what);

/* Check its words before anything exists for it. 0, or the exit code after a line. */
int execute_prepare(const struct execute *what);

/* Have what is prepared start in another directory of the sandbox. */
void execute_start_in(const char *cwd);

/* Do it, prepared, as a part of a conversation of ask_begin_execution(), which stays open unless
 * the supervisor is gone. The outcome's plan is the caller's to close. */
void execute_within(const struct execute *what, struct asking *asking, uint64_t launched_us,
		    struct outcome *ret);

/* Call `ended` of the keeper, if there is one. */
void execute_report_end(const struct execute *what, const struct outcome *outcome, int code);

/* Say on stderr, and with --json on stdout, how it ended. The exit code of msp. */
int execute_finish(const struct execute *what, const struct outcome *outcome);

#endif
