/* SPDX-License-Identifier: Apache-2.0
 *
 * msp: the command line, and the launcher of everything else. It works for the user who runs it
 * and holds no decision of the policy: what a sandbox may do is the supervisor's to say.
 *
 *   run      finds a supervisor, or starts one as a child, and is the frontend of one execution
 *            (ask/execute.c); exec does the same in a persistent sandbox
 *   create, list, ..., diff, apply   ask a supervisor about persistent sandboxes (ask/ask.c)
 *   serve    becomes a supervisor that starts msp-broker for an MCP client (commands/serve.c)
 *   token    keeps the file that says who may use an HTTP server (commands/token.c)
 *   audit    shows and checks the audit log (commands/audit.c)
 *   image    has msp-image unpack images, and keeps them (commands/image.c)
 *   doctor   probes this machine for what the sandboxes need (commands/doctor.c)
 *
 * Started by root, all that start or ask a supervisor, and token and doctor, become an ordinary
 * account first (host/account.c).
 */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "ask/progress.h"
#include "common/fd.h"
#include "common/log.h"
#include "frontend/utf8.h"
#include "options/everywhere.h"
#include "table.h"

/* Words that people try first. */
static const struct {
	const char *word;
	const char *command;
} aliases[] = {
	{ "--help", "help" },
	{ "-h", "help" },
	{ "--version", "version" },
	{ "-V", "version" },
};

/* Return the command that a word is another name of, or the word itself. */
static const char *resolve_alias(const char *word)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		if (strcmp(word, aliases[i].word) == 0)
			return aliases[i].command;
	}
	return word;
}

/* Take the options before the command: *ret_at is the index of its word. 0, or the exit code. */
static int take_options(int argc, char *argv[], int *ret_at)
{
	char text[OPTIONS_TEXT_MAX];

	*ret_at = 1;
	if (argc > 1 && strcmp(resolve_alias(argv[1]), argv[1]) != 0)
		return 0;
	switch (options_parse(&everywhere_options, argc, argv, &everywhere, ret_at, text)) {
	case OPTIONS_OK:
		if (*ret_at < argc)
			return 0;
		return command_usage_error(NULL, "a command is missing");
	case OPTIONS_HELP:
		*ret_at = 0;
		return 0;
	case OPTIONS_WRONG:
		break;
	}
	return command_usage_error(NULL, "%s", text);
}

/* Names of strangers' files are in many lines, and the line of progress gives way to each. */
static void make_line(char *text)
{
	progress_hide();
	utf8_make_line(text);
}

/* A program of msp that fails in a starved start must not leave a core in the caller's directory:
 * it would hold what msp has read. */
static void refuse_cores(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit) != 0)
		return;
	limit.rlim_cur = 0;
	(void)setrlimit(RLIMIT_CORE, &limit); /* lowering it is allowed */
}

int main(int argc, char *argv[])
{
	const struct command *command;
	const char *word;
	int at;
	int code;

	log_set_name("msp");
	log_make_line = make_line;
	/* The parent may have set SIGCHLD to SIG_IGN; wait() would lose exit statuses. */
	(void)signal(SIGCHLD, SIG_DFL);
	refuse_cores();
	/* A write beyond the caller's limit for files is an error like others. */
	(void)signal(SIGXFSZ, SIG_IGN);
	/* The kernel counts the descriptors that wait in sockets for all processes of a user
	 * together, and lets nobody send more who allows himself fewer: a workload that keeps a
	 * thousand of them there would stop every later start. */
	fd_raise_limit();
	code = take_options(argc, argv, &at);
	if (code)
		return code;
	word = at > 0 ? resolve_alias(argv[at]) : "help";
	command = command_find(word);
	if (!command)
		return command_refuse_unknown(word);
	return at > 0 ? command->run(command, argc - at, argv + at)
		      : command->run(command, 1, argv);
}
