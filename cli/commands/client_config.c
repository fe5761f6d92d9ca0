/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp client-config`: prints what an MCP client must be told, in that client's own format, or adds
 * it to the client's own file. Only the configuration, or its change, goes to standard output.
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
#include "client/client_edit.h"
#include "client/client_file.h"
#include "common/fd.h"
#include "common/format.h"
#include "common/limits.h"
#include "common/limits_mode.h"
#include "common/log.h"
#include "doctor/examine.h"
#include "launcher/start/config.h"
#include "launcher/start/launch.h"
#include "options/command.h"
#include "options/suggest.h"
#include "show/confirm.h"
#include "show/line_diff.h"
#include "show/print.h"

struct config_options {
	struct client_wish wish;
	bool is_written;
	const char *file;
	bool is_agreed;
};

#define URL_MAX 1024
#define VARIABLE_MAX 128
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

static const char *set_written(void *member, const char *value)
{
	struct config_options *options = member;

	if (value && (value[0] == '\0' || strlen(value) >= IPC_PATH_MAX - NAME_MAX))
		return "the path of the client's configuration file";
	options->is_written = true;
	options->file = value;
	return NULL;
}

static const struct option_row rows[] = {
	{ .name = "limits",
	  .argument = "required|fallback",
	  .set = option_set_limits,
	  .offset = offsetof(struct config_options, wish.limits),
	  .help = "put this --limits into the configuration; 'fallback' where 'msp doctor' misses "
		  "nothing but cgroup v2" },
	{ .name = "workspace",
	  .argument = "DIR",
	  .set = set_workspace,
	  .offset = offsetof(struct config_options, wish.workspaces),
	  .help = "let the client's requests have sandboxes work on DIR; may be given up to 8 "
		  "times. "
		  "Needed for desktop clients, which start msp in the home directory or in /" },
	{ .name = "http",
	  .argument = "URL",
	  .set = set_url,
	  .offset = offsetof(struct config_options, wish.url),
	  .help = "for a server that runs, 'msp serve --http': connect to it in place of starting "
		  "one" },
	{ .name = "token-env",
	  .argument = "NAME",
	  .set = set_variable,
	  .offset = offsetof(struct config_options, wish.token_env),
	  .help = "with --http: the variable of the client's environment that holds its token (the "
		  "default: " CLIENT_TOKEN_ENV "). vscode asks for the token, once" },
	{ .name = "write",
	  .argument = "FILE",
	  .set = set_written,
	  .help = "add the server to the client's own configuration, or to FILE: show the change, "
		  "ask, and write it",
	  .is_optional = true },
	{ .name = "yes",
	  .set = option_set_flag,
	  .offset = offsetof(struct config_options, is_agreed),
	  .help = "with --write: do not ask" },
};

static int refuse_client(const struct command *command, const char *word)
{
	const char *names[CLIENT_NAMES_MAX];
	const size_t count = client_names(names);
	const char *near = suggest_nearest(word, names, count);
	char text[OPTIONS_TEXT_MAX];

	format_text(text, sizeof(text), "no client '%s' is known", word);
	if (near)
		format_append(text, sizeof(text), " (did you mean '%s'?)", near);
	format_append(text, sizeof(text), "; known are ");
	for (size_t i = 0; i < count; i++)
		format_append(text, sizeof(text), "%s%s", i > 0 ? ", " : "", names[i]);
	return command_usage_error(command, text);
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
	const char *variable = wish->token_env ? wish->token_env : CLIENT_TOKEN_ENV;

	if (!wish->url || client->has_type)
		return;
	log_line("client-config: the client must be started with its token, which 'msp token "
		 "create' shows, in the variable %s",
		 variable);
	if (strcmp(client->name, "claude") == 0)
		log_line("client-config: the same by a command: claude mcp add --scope project "
			 "--transport http msp '%s' --header 'Authorization: Bearer ${%s}'",
			 wish->url, variable);
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

static int print_alone(const struct client *client, const struct client_wish *wish)
{
	struct buffer text = { 0 };
	int error;

	client_append_alone(&text, client, wish);
	error = fd_write_all(STDOUT_FILENO, text.bytes, text.size);
	buffer_done(&text);
	if (error)
		log_line("client-config: standard output: %s", errno_text(-error));
	return error ? MSP_EXIT_SOFTWARE : 0;
}

/* --- the client's own file -------------------------------------------------------------------- */

/* Texts of the file, from the one that was read to the one that is wanted. */
struct change {
	struct client_file file;
	struct buffer steps[CLIENT_EDIT_STEPS];
	size_t count;
};

static int refuse_write(const struct client *client, const struct client_wish *wish,
			const char *path, const char *why)
{
	log_line("client-config: nothing was written: %s%s%s. This belongs into it", path,
		 path[0] ? ": " : "", why);
	return print_alone(client, wish) ? MSP_EXIT_SOFTWARE : MSP_EXIT_REFUSED;
}

/* Show the change and get the person's consent. 0, or the exit code. */
static int agree_change(const struct change *change, bool is_agreed)
{
	const struct buffer *before = &change->file.text;
	char text[IPC_PATH_MAX + 32];

	(void)printf("--- %s\n+++ %s\n", change->file.is_there ? change->file.path : "/dev/null",
		     change->file.path);
	for (size_t i = 0; i < change->count; before = &change->steps[i++])
		line_diff_print(before, &change->steps[i]);
	if (print_flush() != 0)
		return MSP_EXIT_SOFTWARE;
	if (is_agreed)
		return 0;
	if (!confirm_is_possible()) {
		log_line("client-config: nothing was written: there is no terminal to ask on. With "
			 "--yes the change is written without a question");
		return MSP_EXIT_USAGE;
	}
	format_text(text, sizeof(text), "Write this to %s?", change->file.path);
	if (confirm(text))
		return 0;
	log_line("client-config: nothing was written");
	return 1;
}

static int write_change(const struct client *client, const struct config_options *options,
			const struct change *change)
{
	char text[CLIENT_FILE_TEXT_MAX];
	int code = agree_change(change, options->is_agreed);
	int error;

	if (code)
		return code;
	error = client_file_replace(&change->file, &change->steps[change->count - 1], text);
	if (error) {
		log_line("client-config: nothing was written: %s", text);
		return error == -EAGAIN ? MSP_EXIT_AGAIN : MSP_EXIT_SOFTWARE;
	}
	log_line("client-config: %s has the server msp now", change->file.path);
	say_token(client, &options->wish);
	return 0;
}

static int write_file(const struct client *client, const struct config_options *options)
{
	static struct change change;
	char text[CLIENT_FILE_TEXT_MAX];
	char path[IPC_PATH_MAX];
	int code;

	if (options->file)
		format_text(path, sizeof(path), "%s", options->file);
	else if (!client_file_place(client, path, text))
		return refuse_write(client, &options->wish, "", text);
	warn_refusal(&options->wish);
	if (!client_file_read(path, !options->file && !client->home, &change.file, text))
		return refuse_write(client, &options->wish, "", text);
	switch (client_edit(client, &options->wish, &change.file.text, change.steps, &change.count,
			    text)) {
	case CLIENT_EDIT_SAME:
		log_line("client-config: %s has the server msp already", change.file.path);
		code = 0;
		break;
	case CLIENT_EDIT_CHANGED:
		code = write_change(client, options, &change);
		break;
	case CLIENT_EDIT_REFUSED:
	default:
		code = refuse_write(client, &options->wish, change.file.path, text);
		break;
	}
	for (size_t i = 0; i < CLIENT_EDIT_STEPS; i++)
		buffer_done(&change.steps[i]);
	buffer_done(&change.file.text);
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
	if (words.count == 0)
		return command_usage_error(command, "a client is needed: claude, codex, cursor, "
						    "vscode or gemini");
	client = client_find(words.list[0]);
	if (!client)
		return refuse_client(command, words.list[0]);
	conflict = find_conflict(client, &options);
	if (conflict)
		return command_usage_error(command, conflict);
	if (!launch_own_path(path)) {
		log_line("client-config: the path of msp itself cannot be read from "
			 "/proc/self/exe: %s",
			 errno_text(errno));
		return MSP_EXIT_SOFTWARE;
	}
	options.wish.path = path;
	if (options.is_written)
		return write_file(client, &options);
	code = print_alone(client, &options.wish);
	if (code)
		return code;
	log_line("client-config: this belongs into %s",
		 options.wish.url && client->http_place ? client->http_place : client->place);
	say_token(client, &options.wish);
	warn_refusal(&options.wish);
	return 0;
}

const struct command command_client_config = {
	.name = "client-config",
	.operands = "claude|codex|cursor|vscode|gemini",
	.summary = "print or install the configuration for an MCP client",
	.help = "Print what makes an MCP client start this msp, in the client's own format\n"
		"and with the path of this program. Where it belongs is said on standard\n"
		"error. It is the same with the user's service and without.\n"
		"\n"
		"With --write it is added to the client's own file: the change is shown, and\n"
		"written after a yes. All else in the file stays as it is. claude and vscode\n"
		"have a file in each project, here that of the working directory.\n"
		"\n"
		"With --http it makes the client connect to a server that runs. The token is not\n"
		"in it: the client reads it from its environment.\n",
	.options = { .rows = rows, .count = sizeof(rows) / sizeof(rows[0]), .has_operands = true },
	.run = client_config,
};
