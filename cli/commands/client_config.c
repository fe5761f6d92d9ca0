/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp client-config`: what an MCP client must be told, in that client's own format. Only the
 * configuration goes to standard output; where it belongs is said on standard error.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limits.h"
#include "common/limits_mode.h"
#include "common/log.h"
#include "doctor/examine.h"
#include "host/workspace.h"
#include "launch/launch.h"
#include "options/command.h"
#include "options/suggest.h"
#include "show/format.h"
#include "show/json.h"

struct config_options {
	uint32_t limits;
	const char *url;
	const char *token_env;
	struct workspace_words workspaces;
};

#define URL_MAX 1024
#define VARIABLE_MAX 128
#define TOKEN_ENV "MSP_TOKEN"
#define HEADER_MAX (VARIABLE_MAX + 32)

/* The id under which VS Code keeps what it asked its user for. */
#define TOKEN_INPUT "msp-token"

#define UNIX_SCHEME "unix:///"

static bool begins_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static const char *set_url(void *member, const char *value)
{
	const bool is_known = begins_with(value, "http://") || begins_with(value, "https://") ||
			      begins_with(value, UNIX_SCHEME);
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
	{ .name = "limits",
	  .argument = "required|fallback",
	  .set = option_set_limits,
	  .offset = offsetof(struct config_options, limits),
	  .help = "put this --limits into the configuration; 'fallback' where 'msp doctor' misses "
		  "nothing but cgroup v2" },
	{ .name = "workspace",
	  .argument = "DIR",
	  .set = set_workspace,
	  .offset = offsetof(struct config_options, workspaces),
	  .help = "let the client's requests have sandboxes work on DIR; may be given up to 8 "
		  "times. "
		  "Needed for desktop clients, which start msp in the home directory or in /" },
	{ .name = "http",
	  .argument = "URL",
	  .set = set_url,
	  .offset = offsetof(struct config_options, url),
	  .help = "for a server that runs, 'msp serve --http': connect to it in place of starting "
		  "one" },
	{ .name = "token-env",
	  .argument = "NAME",
	  .set = set_variable,
	  .offset = offsetof(struct config_options, token_env),
	  .help = "with --http: the variable of the client's environment that holds its token (the "
		  "default: " TOKEN_ENV "). vscode asks for the token, once" },
};

struct client {
	const char *name;
	const char *servers; /* the member that holds the servers; NULL: TOML */
	const char *place;
	const char *http_place; /* NULL: the same */
	bool has_type;          /* each server says "type": "stdio" */
	const char *type;       /* an HTTP server's, or NULL */
	const char *url;        /* the member that holds the URL */
	/* How a member names a variable of the environment. */
	const char *before;
	const char *after;
};

/* clang-format off */
static const struct client clients[] = {
	{ "claude", "mcpServers",
	  ".mcp.json of a project (Claude Code), or claude_desktop_config.json (Claude Desktop)",
	  ".mcp.json of a project", false, "http", "url", "${", "}" },
	{ "codex", NULL, "~/.codex/config.toml", NULL, false, NULL, "url", NULL, NULL },
	{ "cursor", "mcpServers", "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
	  NULL, false, NULL, "url", "${env:", "}" },
	{ "vscode", "servers", ".vscode/mcp.json of a project",
	  NULL, true, "http", "url", "${input:", "}" },
	{ "gemini", "mcpServers", "~/.gemini/settings.json, or .gemini/settings.json of a project",
	  NULL, false, NULL, "httpUrl", "${", "}" },
};
/* clang-format on */

#define CLIENT_COUNT (sizeof(clients) / sizeof(clients[0]))

static void write_stdio(struct json_writer *json, const struct client *client, const char *path,
			const struct config_options *options)
{
	char word[PATH_MAX + 16];

	if (client->has_type)
		json_put_text(json, "type", "stdio");
	json_put_text(json, "command", path);
	json_open_array(json, "args");
	json_put_text(json, NULL, "serve");
	if (options->limits == LIMITS_FALLBACK)
		json_put_text(json, NULL, "--limits=fallback");
	for (uint32_t i = 0; i < options->workspaces.count; i++) {
		format_text(word, sizeof(word), "--workspace=%s", options->workspaces.words[i]);
		json_put_text(json, NULL, word);
	}
	json_close_array(json);
}

static void write_http(struct json_writer *json, const struct client *client, const char *url,
		       const char *token)
{
	char header[HEADER_MAX];

	if (client->type)
		json_put_text(json, "type", client->type);
	json_put_text(json, client->url, url);
	if (!token)
		return;
	format_text(header, sizeof(header), "Bearer %s%s%s", client->before, token, client->after);
	json_open_object(json, "headers");
	json_put_text(json, "Authorization", header);
	json_close_object(json);
}

/* Write the inputs that VS Code asks its user for, without showing them. */
static void write_inputs(struct json_writer *json)
{
	json_open_array(json, "inputs");
	json_open_object(json, NULL);
	json_put_text(json, "type", "promptString");
	json_put_text(json, "id", TOKEN_INPUT);
	json_put_text(json, "description", "The token that 'msp token create' showed");
	json_put_bool(json, "password", true);
	json_close_object(json);
	json_close_array(json);
}

static int print_json(const struct client *client, const char *path,
		      const struct config_options *options)
{
	const bool is_asked = client->type && client->has_type; /* VS Code */
	const char *token = is_asked ? TOKEN_INPUT : options->token_env;
	static struct json_output json;

	if (options->url && begins_with(options->url, UNIX_SCHEME) && !options->token_env)
		token = NULL;
	else if (!token)
		token = TOKEN_ENV;
	json_begin(&json, STDOUT_FILENO);
	json_open_object(&json.writer, NULL);
	json_open_object(&json.writer, client->servers);
	json_open_object(&json.writer, "msp");
	if (options->url)
		write_http(&json.writer, client, options->url, token);
	else
		write_stdio(&json.writer, client, path, options);
	json_close_object(&json.writer);
	json_close_object(&json.writer);
	if (options->url && is_asked && token)
		write_inputs(&json.writer);
	json_close_object(&json.writer);
	return json_finish(&json);
}

static void format_arguments(const struct config_options *options, char *text, size_t room)
{
	format_text(text, room, "args = [\"serve\"%s",
		    options->limits == LIMITS_FALLBACK ? ", \"--limits=fallback\"" : "");
	for (uint32_t i = 0; i < options->workspaces.count; i++)
		format_append(text, room, ", \"--workspace=%s\"", options->workspaces.words[i]);
	format_append(text, room, "]\n");
}

/* A TOML basic string has JSON's escapes, so the JSON writer's strings serve. */
static int print_toml(const char *path, const struct config_options *options)
{
	static char rest[HEADER_MAX + CLIENT_WORKSPACES_MAX * (PATH_MAX + 20)];
	static struct json_output json;
	char heading[64];
	int error;

	format_text(heading, sizeof(heading),
		    "[mcp_servers.msp]\n%s = ", options->url ? "url" : "command");
	if (options->url)
		format_text(rest, sizeof(rest), "bearer_token_env_var = \"%s\"\n",
			    options->token_env ? options->token_env : TOKEN_ENV);
	else
		format_arguments(options, rest, sizeof(rest));
	error = fd_write_all(STDOUT_FILENO, heading, strlen(heading));
	json_begin(&json, STDOUT_FILENO);
	json_put_text(&json.writer, NULL, options->url ? options->url : path);
	if (!error)
		error = json_finish(&json);
	return error ? error : fd_write_all(STDOUT_FILENO, rest, strlen(rest));
}

static void list_clients(char *text, size_t room)
{
	for (size_t i = 0; i < CLIENT_COUNT; i++)
		format_append(text, room, "%s%s", i > 0 ? ", " : "", clients[i].name);
}

static int refuse_client(const struct command *command, const char *word)
{
	const char *names[CLIENT_COUNT];
	const char *near;
	char text[OPTIONS_TEXT_MAX];

	for (size_t i = 0; i < CLIENT_COUNT; i++)
		names[i] = clients[i].name;
	near = suggest_nearest(word, names, CLIENT_COUNT);
	format_text(text, sizeof(text), "no client '%s' is known", word);
	if (near)
		format_append(text, sizeof(text), " (did you mean '%s'?)", near);
	format_append(text, sizeof(text), "; known are ");
	list_clients(text, sizeof(text));
	return command_usage_error(command, text);
}

static const struct client *find_client(const char *name)
{
	for (size_t i = 0; i < CLIENT_COUNT; i++) {
		if (strcmp(clients[i].name, name) == 0)
			return &clients[i];
	}
	return NULL;
}

static const char *find_conflict(const struct client *client, const struct config_options *options)
{
	if (options->url && options->limits == LIMITS_FALLBACK)
		return "--limits belongs to 'msp serve --http', which starts the sandboxes";
	if (options->url && options->workspaces.count > 0)
		return "--workspace belongs to 'msp serve --http', which starts the sandboxes";
	if (options->token_env && !options->url)
		return "--token-env is for --http";
	if (options->url && begins_with(options->url, UNIX_SCHEME) &&
	    strcmp(client->name, "vscode") != 0)
		return "only vscode connects to a unix socket";
	return NULL;
}

/* Name the file that it belongs in. */
static void say_place(const struct client *client, const struct config_options *options)
{
	const char *variable = options->token_env ? options->token_env : TOKEN_ENV;

	log_line("client-config: this belongs into %s",
		 options->url && client->http_place ? client->http_place : client->place);
	if (!options->url || client->has_type)
		return;
	log_line("client-config: the client must be started with its token, which 'msp token "
		 "create' shows, in the variable %s",
		 variable);
	if (strcmp(client->name, "claude") == 0)
		log_line("client-config: the same by a command: claude mcp add --scope project "
			 "--transport http msp '%s' --header 'Authorization: Bearer ${%s}'",
			 options->url, variable);
}

/* Warn of a machine on which the client would only get the tool msp_status. */
static void warn_refusal(const struct config_options *options)
{
	static struct machine machine;
	static char missing[DOCTOR_TEXT_MAX];
	char *rest = missing;

	if (doctor_examine(NULL, NULL, &machine) != 0 ||
	    doctor_explain(&machine, options->limits, missing, sizeof(missing)))
		return;
	log_line("client-config: warning: msp will refuse to run anything on this machine");
	while (rest && *rest)
		log_line("client-config: %s", strsep(&rest, "\n"));
}

static int client_config(const struct command *command, int argc, char *argv[])
{
	struct config_options options = { .limits = LIMITS_UNSAID };
	char path[IPC_PATH_MAX];
	const struct client *client;
	const char *conflict;
	int error;
	int rest;
	int code;

	if (!command_parse(command, argc, argv, &options, &rest, &code))
		return code;
	if (rest + 1 != argc)
		return command_usage_error(command, "exactly one client is needed: claude, codex, "
						    "cursor, vscode or gemini");
	client = find_client(argv[rest]);
	if (!client)
		return refuse_client(command, argv[rest]);
	conflict = find_conflict(client, &options);
	if (conflict)
		return command_usage_error(command, conflict);
	if (!launch_own_path(path)) {
		log_line("client-config: the path of msp itself cannot be read from "
			 "/proc/self/exe: %s",
			 errno_text(errno));
		return MSP_EXIT_SOFTWARE;
	}
	error = client->servers ? print_json(client, path, &options) : print_toml(path, &options);
	if (error) {
		log_line("client-config: standard output: %s", errno_text(-error));
		return MSP_EXIT_SOFTWARE;
	}
	say_place(client, &options);
	if (!options.url)
		warn_refusal(&options);
	return 0;
}

const struct command command_client_config = {
	.name = "client-config",
	.operands = "claude|codex|cursor|vscode|gemini",
	.summary = "print the configuration for an MCP client",
	.help = "Print what makes an MCP client start this msp, in the client's own format\n"
		"and with the path of this program. Where it belongs is said on standard\n"
		"error. It is the same with the user's service and without.\n"
		"\n"
		"With --http it makes the client connect to a server that runs. The token is not\n"
		"in it: the client reads it from its environment.\n",
	.options = { .rows = rows, .count = sizeof(rows) / sizeof(rows[0]), .has_operands = true },
	.run = client_config,
};
