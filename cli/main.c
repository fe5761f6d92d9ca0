/* SPDX-License-Identifier: Apache-2.0
 *
 * msp: the command line, and the launcher of everything else. It works for the user who runs it
 * and holds no decision of the policy: what a sandbox may do is the supervisor's to say.
 *
 *   run      finds a supervisor, or starts one as a child, and is the frontend of one execution
 *            (launch/execute.c); exec does the same in a persistent sandbox
 *   create, list, ..., diff, apply   ask a supervisor about persistent sandboxes (launch/ask.c)
 *   serve    becomes a supervisor that starts msp-broker for an MCP client (commands/serve.c)
 *   token    keeps the file that says who may use an HTTP server (commands/token.c)
 *   audit    shows and checks the audit log (commands/audit.c)
 *   doctor   probes this machine for what the sandboxes need (commands/doctor.c)
 *
 * Started by root, all that start or ask a supervisor, and token and doctor, become an ordinary
 * account first (host/account.c).
 */
#include <signal.h>
#include <string.h>

#include "common/fd.h"
#include "common/log.h"
#include "show/format.h"
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

static int refuse_unknown(const char *word)
{
	const char *near = command_suggest(word);
	char text[OPTIONS_TEXT_MAX];

	format_text(text, sizeof(text), "there is no command '%s'", word);
	if (near)
		format_append(text, sizeof(text), " (did you mean '%s'?)", near);
	return command_usage_error(NULL, text);
}

int main(int argc, char *argv[])
{
	const struct command *command;
	const char *word;

	log_set_name("msp");
	/* The parent may have set SIGCHLD to SIG_IGN; wait() would lose exit statuses. */
	(void)signal(SIGCHLD, SIG_DFL);
	/* The kernel counts the descriptors that wait in sockets for all processes of a user
	 * together, and lets nobody send more who allows himself fewer: a workload that keeps a
	 * thousand of them there would stop every later start. */
	fd_raise_limit();
	if (argc < 2)
		return command_usage_error(NULL, "a command is missing");
	word = argv[1];
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		if (strcmp(word, aliases[i].word) == 0)
			word = aliases[i].command;
	}
	command = command_find(word);
	if (!command)
		return refuse_unknown(word);
	return command->run(command, argc - 1, argv + 1);
}
