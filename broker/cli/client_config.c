/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp client-config`: what an MCP client must be told, in that client's own format. Only the
 * configuration goes to standard output; where it belongs is said on standard error.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"
#include "format.h"
#include "json.h"
#include "launch.h"
#include "suggest.h"

struct config_options {
	uint32_t limits;
};

static const struct option_row rows[] = {
	{ .name = "limits",
	  .argument = "required|fallback",
	  .set = option_set_limits,
	  .offset = offsetof(struct config_options, limits),
	  .help = "put this --limits into the configuration; 'fallback' where 'msp doctor' misses "
		  "nothing but cgroup v2" },
};

struct client {
	const char *name;
	const char *servers; /* the member that holds the servers; NULL: TOML */
	bool has_type;       /* each server says "type": "stdio" */
	const char *place;
};

static const struct client clients[] = {
	{ "claude", "mcpServers", false,
	  ".mcp.json of a project (Claude Code), or claude_desktop_config.json (Claude Desktop)" },
	{ "codex", NULL, false, "~/.codex/config.toml" },
	{ "cursor", "mcpServers", false, "~/.cursor/mcp.json, or .cursor/mcp.json of a project" },
	{ "vscode", "servers", true, ".vscode/mcp.json of a project" },
	{ "gemini", "mcpServers", false,
	  "~/.gemini/settings.json, or .gemini/settings.json of a project" },
};

#define CLIENT_COUNT (sizeof(clients) / sizeof(clients[0]))

static int print_json(const struct client *client, const char *path, uint32_t limits)
{
	static struct json json;

	json_init(&json, STDOUT_FILENO);
	json_object(&json, NULL);
	json_object(&json, client->servers);
	json_object(&json, "msp");
	if (client->has_type)
		json_string(&json, "type", "stdio");
	json_string(&json, "command", path);
	json_array(&json, "args");
	json_string(&json, NULL, "serve");
	if (limits == LIMITS_FALLBACK)
		json_string(&json, NULL, "--limits=fallback");
	json_array_end(&json);
	json_object_end(&json);
	json_object_end(&json);
	json_object_end(&json);
	return json_finish(&json);
}

/* A TOML basic string has JSON's escapes, so the JSON writer's strings serve. */
static int print_toml(const char *path, uint32_t limits)
{
	static struct json json;
	static const char heading[] = "[mcp_servers.msp]\ncommand = ";
	static const char fallback[] = "args = [\"serve\", \"--limits=fallback\"]\n";
	static const char plain[] = "args = [\"serve\"]\n";
	const char *arguments = limits == LIMITS_FALLBACK ? fallback : plain;
	int error = fd_write_all(STDOUT_FILENO, heading, strlen(heading));

	json_init(&json, STDOUT_FILENO);
	json_string(&json, NULL, path);
	if (!error)
		error = json_finish(&json);
	return error ? error : fd_write_all(STDOUT_FILENO, arguments, strlen(arguments));
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

static int client_config(const struct command *command, int argc, char *argv[])
{
	struct config_options options = { 0 };
	char path[IPC_PATH_MAX];
	const struct client *client;
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
	if (!launch_own_path(path)) {
		log_line("client-config: the path of msp itself cannot be read from "
			 "/proc/self/exe: %s",
			 strerror(errno));
		return MSP_EXIT_SOFTWARE;
	}
	error = client->servers ? print_json(client, path, options.limits)
				: print_toml(path, options.limits);
	if (error) {
		log_line("client-config: standard output: %s", strerror(-error));
		return MSP_EXIT_SOFTWARE;
	}
	log_line("client-config: this belongs into %s", client->place);
	return 0;
}

const struct command command_client_config = {
	.name = "client-config",
	.operands = "claude|codex|cursor|vscode|gemini",
	.summary = "print the configuration for an MCP client",
	.help = "Print what makes an MCP client start this msp, in the client's own format\n"
		"and with the path of this program. Where it belongs is said on standard\n"
		"error. It is the same with the user's service and without.\n",
	.options = { .rows = rows, .count = sizeof(rows) / sizeof(rows[0]), .has_operands = true },
	.run = client_config,
};
