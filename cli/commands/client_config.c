/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp client-config`: prints what an MCP client must be told, in that client's own format, or runs
 * the client's own command that adds it. Only the configuration, or the command with its output,
 * goes to standard output.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/client.h"
#include "common/fd.h"
#include "common/ipc/limits_mode.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text/format.h"
#include "doctor/examine.h"
#include "launcher/host/directory.h"
#include "launcher/start/config.h"
#include "launcher/start/launch.h"
#include "options/command.h"
#include "options/suggest.h"
#include "setup/perform.h"
#include "show/confirm.h"
#include "show/print.h"
#include "show/quote.h"

struct config_options {
	struct client_wish wish;
	bool is_written;
	bool is_agreed;
};

#define URL_MAX 1024
#define VARIABLE_MAX 128
/* Room for the words of a client's command, whose workspaces are CLIENT_WORKSPACES_MAX. */
#define CLIENT_COMMAND_WORDS 32
static bool begins_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static const char *set_url(void *member, const char *value)
{
	const bool is_known = begins_with(value, "http://") || begins_with(value, "https://") ||
			      begins_with(value, CLIENT_UNIX_SCHEME);
	const size_t size = strlen(value);

	for (size_t i = 0; i < size; i++) {
		if (value[i] <= ' ' || value[i] > '~' || strchr("\"'\\$`", value[i]))
			return "a URL without blanks and quotes, such as http://127.0.0.1:8765/mcp";
	}
	if (!is_known || size >= URL_MAX)
		return "the URL that 'msp serve --http' says, such as http://127.0.0.1:8765/mcp, "
		       "or, for vscode, unix:///PATH#/mcp";
	*(const char **)member = value;
	return NULL;
}

static const char *set_variable(void *member, const char *value)
{
	const size_t size = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					  "0123456789_");

	if (size == 0 || value[size] != '\0' || size >= VARIABLE_MAX ||
	    (value[0] >= '0' && value[0] <= '9'))
		return "the name of a variable: letters, digits and '_', not beginning with a "
		       "digit, at most 127. The token itself does not belong here";
	*(const char **)member = value;
	return NULL;
}

/* The client starts msp anywhere, so that the path has to be absolute; it stands between quotes. */
static const char *set_workspace(void *member, const char *value)
{
	static char paths[CLIENT_WORKSPACES_MAX][PATH_MAX];
	const struct workspace_words *words = member;
	const int fd = open(value, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *path = paths[words->count < CLIENT_WORKSPACES_MAX ? words->count : 0];

	if (fd < 0)
		return "a directory that exists";
	(void)close(fd);
	if (!realpath(value, path) || strpbrk(path, "\"\\\n\r\t"))
		return "a directory whose path has no quote, no backslash and no line end";
	return workspace_set_word(member, path);
}

static const struct option_row rows[] = {
	OPTION(struct config_options, "limits", "required|fallback", option_set_limits, wish.limits,
	       "put this --limits into the configuration; 'fallback' where 'msp doctor' misses "
	       "nothing but cgroup v2"),
	OPTION(struct config_options, "workspace", "DIR", set_workspace, wish.workspaces,
	       "let the client's requests have sandboxes work on DIR; may be given up to 8 "
	       "times. "
	       "Needed for desktop clients, which start msp in the home directory or in /"),
	OPTION(struct config_options, "http", "URL", set_url, wish.url,
	       "for a server that runs, 'msp serve --http': connect to it in place of starting "
	       "one"),
	OPTION(struct config_options, "token-env", "NAME", set_variable, wish.token_env,
	       "with --http: the variable of the client's environment that holds its token (the "
	       "default: " CLIENT_TOKEN_ENV "). vscode asks for the token, once"),
	OPTION(struct config_options, "write", NULL, option_set_flag, is_written,
	       "add the server by the client's own command: show it, ask, and run it"),
	OPTION(struct config_options, "yes", NULL, option_set_flag, is_agreed,
	       "with --write: do not ask"),
};

/* Refuse a command line whose client is unknown, or missing (NULL). */
static int refuse_client(const struct command *command, const char *word)
{
	const char *names[CLIENT_NAMES_MAX];
	const size_t count = client_names(names);
	char text[OPTIONS_TEXT_MAX];

	format_text(text, sizeof(text), "a client is needed");
	if (word) {
		format_text(text, sizeof(text), "no client '%s' is known", word);
		suggest_append(text, sizeof(text), word, names, count);
	}
	format_append(text, sizeof(text), "; known are ");
	for (size_t i = 0; i < count; i++)
		format_append(text, sizeof(text), "%s%s", i > 0 ? ", " : "", names[i]);
	return command_usage_error(command, "%s", text);
}

static const char *find_conflict(const struct client *client, const struct config_options *options)
{
	const struct client_wish *wish = &options->wish;

	if (wish->url && wish->limits == LIMITS_FALLBACK)
		return "--limits belongs to 'msp serve --http', which starts the sandboxes";
	if (wish->url && wish->workspaces.count > 0)
		return "--workspace belongs to 'msp serve --http', which starts the sandboxes";
	if (wish->token_env && !wish->url)
		return "--token-env is for --http";
	if (options->is_agreed && !options->is_written)
		return "--yes is for --write";
	if (wish->url && begins_with(wish->url, CLIENT_UNIX_SCHEME) &&
	    strcmp(client->name, "vscode") != 0)
		return "only vscode connects to a unix socket";
	return NULL;
}

/* Say how the client gets the token of a running server. */
static void say_token(const struct client *client, const struct client_wish *wish)
{
	if (wish->url && !client->asks_token)
		log_line("client-config: the client must be started with its token, which 'msp "
			 "token create' shows, in the variable %s",
			 client_variable(wish));
}

/* Say where the printed text belongs. */
static void say_place(const struct client *client, const struct client_wish *wish)
{
	log_line("client-config: this belongs into %s",
		 wish->url && client->http_place ? client->http_place : client->place);
}

static void explain_refusal(const struct client_wish *wish)
{
	static struct machine machine;
	static char missing[DOCTOR_TEXT_MAX];
	char *rest = missing;

	if (doctor_examine(NULL, NULL, &machine) != 0 ||
	    doctor_explain(&machine, wish->limits, missing, sizeof(missing)))
		return;
	log_line("client-config: warning: msp will refuse to run anything on this machine");
	while (rest && *rest)
		log_line("client-config: %s", strsep(&rest, "\n"));
}

/* Warn of a machine on which the client would only get the tool msp_status. A child examines it,
 * because as root it becomes the account, which cannot write root's files. */
static void warn_refusal(const struct client_wish *wish)
{
	pid_t child;

	if (wish->url)
		return;
	child = fork();
	if (child == 0) {
		explain_refusal(wish);
		_exit(0);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static int print_text(const struct client *client, const struct client_wish *wish)
{
	struct buffer text = { 0 };
	int error;

	client_append_text(&text, client, wish);
	error = fd_write_all(STDOUT_FILENO, text.bytes, text.size);
	buffer_done(&text);
	if (error)
		log_line("client-config: standard output: %s", errno_text(-error));
	return error ? MSP_EXIT_SOFTWARE : 0;
}

/* --- the client's own command ----------------------------------------------------------------- */

/* Print the text for a person to add, because of `why`. Returns the exit code. */
static int refuse_command(const struct client *client, const struct client_wish *wish,
			  const char *why)
{
	log_line("client-config: nothing was added: %s", why);
	if (print_text(client, wish) != 0)
		return MSP_EXIT_SOFTWARE;
	say_place(client, wish);
	say_token(client, wish);
	return MSP_EXIT_REFUSED;
}

/* Show the command and get the person's consent. 0, or the exit code. */
static int agree_command(const struct client *client, const struct buffer *words, bool is_agreed)
{
	quote_print_words(words->bytes, words->size);
	(void)putchar('\n');
	if (print_flush() != 0)
		return MSP_EXIT_SOFTWARE;
	if (!client->remove)
		log_line("client-config: if %s has a server msp already, this replaces it",
			 client->program);
	if (is_agreed)
		return 0;
	if (!confirm_is_possible())
		return log_fail(MSP_EXIT_USAGE,
				"client-config: nothing was added: there is no terminal to ask on. "
				"With --yes the command is run without a question");
	if (confirm("Run this?"))
		return 0;
	return log_fail(1, "client-config: nothing was added");
}

/* Run the command, whose words have a NUL after each. Returns the exit code. */
static int run_command(const struct client *client, const struct buffer *words)
{
	char *list[CLIENT_COMMAND_WORDS + 1] = { NULL };
	char why[PERFORM_TEXT_MAX];
	size_t count = 0;

	for (size_t at = 0; at < words->size && count < CLIENT_COMMAND_WORDS;
	     at += strlen(words->bytes + at) + 1)
		list[count++] = words->bytes + at;
	if (perform_run_for_user(list, why) == 0) {
		log_line("client-config: %s has the server msp now", client->program);
		return 0;
	}
	log_line("client-config: %s has not added the server msp: %s", client->program, why);
	if (client->remove)
		log_line("client-config: if it has one already, remove that first: %s %s",
			 client->program, client->remove);
	else
		log_line("client-config: without --write the text for its file is printed");
	return MSP_EXIT_SOFTWARE;
}

static int add_by_command(const struct client *client, const struct config_options *options)
{
	struct buffer words = { 0 };
	char path[IPC_PATH_MAX];
	char why[128];
	int code;

	warn_refusal(&options->wish);
	if (!client->program) {
		format_text(why, sizeof(why), "%s has no command that adds a server", client->name);
		return refuse_command(client, &options->wish, why);
	}
	if (!directory_find_program(getenv("PATH"), client->program, path, sizeof(path))) {
		format_text(why, sizeof(why), "there is no program %s in PATH", client->program);
		return refuse_command(client, &options->wish, why);
	}
	buffer_append(&words, path, strlen(path) + 1);
	client_append_command(&words, client, &options->wish);
	code = agree_command(client, &words, options->is_agreed);
	if (!code)
		code = run_command(client, &words);
	if (!code)
		say_token(client, &options->wish);
	buffer_done(&words);
	return code;
}

static int client_config(const struct command *command, int argc, char *argv[])
{
	struct config_options options = { .wish = { .limits = LIMITS_UNSAID } };
	struct command_words words = { .most = 1 };
	char path[IPC_PATH_MAX];
	const struct client *client;
	const char *conflict;
	int code;

	if (!command_parse_words(command, argc, argv, &options, &words, &code))
		return code;
	client = words.count > 0 ? client_find(words.list[0]) : NULL;
	if (!client)
		return refuse_client(command, words.count > 0 ? words.list[0] : NULL);
	conflict = find_conflict(client, &options);
	if (conflict)
		return command_usage_error(command, "%s", conflict);
	if (!launch_own_path(path))
		return log_fail(MSP_EXIT_SOFTWARE,
				"client-config: the path of msp itself cannot be read from "
				"/proc/self/exe: %s",
				errno_text(errno));
	options.wish.path = path;
	if (options.is_written)
		return add_by_command(client, &options);
	code = print_text(client, &options.wish);
	if (code)
		return code;
	say_place(client, &options.wish);
	say_token(client, &options.wish);
	warn_refusal(&options.wish);
	return 0;
}

const struct command command_client_config = {
	.name = "client-config",
	.operands = "claude|codex|cursor|vscode|gemini|qwen|opencode|copilot",
	.summary = "print or install the configuration for an MCP client",
	.help = "Print what makes an MCP client start this msp, in the client's own format\n"
		"and with the path of this program. Where it belongs is said on standard\n"
		"error. It is the same with the user's service and without.\n"
		"\n"
		"With --write the client's own command adds it, such as 'claude mcp add': the\n"
		"command is shown, and run after a yes. For a client without such a command the\n"
		"text is printed.\n"
		"\n"
		"With --http it makes the client connect to a server that runs. The token is not\n"
		"in it: the client reads it from its environment.\n",
	.options = { OPTION_ROWS(rows), .has_operands = true },
	.run = client_config,
};
