/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client.h"

#include <limits.h>
#include <string.h>

#include "common/format.h"
#include "common/limits_mode.h"

/* clang-format off */
static const struct client clients[] = {
	{ "claude", "mcpServers",
	  ".mcp.json of a project (Claude Code), or claude_desktop_config.json (Claude Desktop)",
	  ".mcp.json of a project", NULL, NULL, ".mcp.json",
	  false, "http", "url", "${", "}" },
	{ "codex", NULL, "~/.codex/config.toml", NULL, "CODEX_HOME", ".codex", "config.toml",
	  false, NULL, "url", NULL, NULL },
	{ "cursor", "mcpServers", "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
	  NULL, NULL, ".cursor", "mcp.json", false, NULL, "url", "${env:", "}" },
	{ "vscode", "servers", ".vscode/mcp.json of a project",
	  NULL, NULL, NULL, ".vscode/mcp.json", true, "http", "url", "${input:", "}" },
	{ "gemini", "mcpServers", "~/.gemini/settings.json, or .gemini/settings.json of a project",
	  NULL, NULL, ".gemini", "settings.json", false, NULL, "httpUrl", "${", "}" },
};
/* clang-format on */

#define CLIENT_COUNT (sizeof(clients) / sizeof(clients[0]))
_Static_assert(CLIENT_COUNT <= CLIENT_NAMES_MAX, "client_names() has room for all");

#define HEADER_MAX 256

const struct client *client_find(const char *name)
{
	for (size_t i = 0; i < CLIENT_COUNT; i++) {
		if (strcmp(clients[i].name, name) == 0)
			return &clients[i];
	}
	return NULL;
}

size_t client_names(const char *names[CLIENT_NAMES_MAX])
{
	for (size_t i = 0; i < CLIENT_COUNT; i++)
		names[i] = clients[i].name;
	return CLIENT_COUNT;
}

/* Return the name of the token's variable or input, or NULL for a server without a token. */
static const char *name_token(const struct client *client, const struct client_wish *wish)
{
	if (wish->url && strncmp(wish->url, CLIENT_UNIX_SCHEME, strlen(CLIENT_UNIX_SCHEME)) == 0 &&
	    !wish->token_env)
		return NULL;
	if (client->type && client->has_type) /* VS Code */
		return CLIENT_TOKEN_INPUT;
	return wish->token_env ? wish->token_env : CLIENT_TOKEN_ENV;
}

bool client_asks_token(const struct client *client, const struct client_wish *wish)
{
	return wish->url && client->servers && client->type && client->has_type &&
	       name_token(client, wish);
}

static void write_stdio(struct json_writer *json, const struct client *client,
			const struct client_wish *wish)
{
	char word[PATH_MAX + 16];

	if (client->has_type)
		json_put_text(json, "type", "stdio");
	json_put_text(json, "command", wish->path);
	json_open_array(json, "args");
	json_put_text(json, NULL, "serve");
	if (wish->limits == LIMITS_FALLBACK)
		json_put_text(json, NULL, "--limits=fallback");
	for (uint32_t i = 0; i < wish->workspaces.count; i++) {
		format_text(word, sizeof(word), "--workspace=%s", wish->workspaces.words[i]);
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

void client_write_server(struct json_writer *json, const struct client *client,
			 const struct client_wish *wish)
{
	if (wish->url)
		write_http(json, client, wish->url, name_token(client, wish));
	else
		write_stdio(json, client, wish);
}

void client_write_input(struct json_writer *json)
{
	json_put_text(json, "type", "promptString");
	json_put_text(json, "id", CLIENT_TOKEN_INPUT);
	json_put_text(json, "description", "The token that 'msp token create' showed");
	json_put_bool(json, "password", true);
}

static void append_json(struct json_writer *json, const struct client *client,
			const struct client_wish *wish)
{
	json_open_object(json, NULL);
	json_open_object(json, client->servers);
	json_open_object(json, "msp");
	client_write_server(json, client, wish);
	json_close_object(json);
	json_close_object(json);
	if (client_asks_token(client, wish)) {
		json_open_array(json, "inputs");
		json_open_object(json, NULL);
		client_write_input(json);
		json_close_object(json);
		json_close_array(json);
	}
	json_close_object(json);
	buffer_append_text(json->out, "\n");
}

/* Append a table of TOML, whose basic strings have JSON's escapes. */
static void append_toml(struct buffer *out, const struct client_wish *wish)
{
	struct json_writer json = { .out = out, .form = JSON_LINES };

	buffer_format(out, "[mcp_servers.msp]\n%s = ", wish->url ? "url" : "command");
	json_put_text(&json, NULL, wish->url ? wish->url : wish->path);
	if (wish->url) {
		buffer_format(out, "\nbearer_token_env_var = \"%s\"\n",
			      wish->token_env ? wish->token_env : CLIENT_TOKEN_ENV);
		return;
	}
	buffer_format(out, "\nargs = [\"serve\"%s",
		      wish->limits == LIMITS_FALLBACK ? ", \"--limits=fallback\"" : "");
	for (uint32_t i = 0; i < wish->workspaces.count; i++)
		buffer_format(out, ", \"--workspace=%s\"", wish->workspaces.words[i]);
	buffer_append_text(out, "]\n");
}

void client_append_alone(struct buffer *out, const struct client *client,
			 const struct client_wish *wish)
{
	struct json_writer json = { .out = out, .form = JSON_LINES };

	if (client->servers)
		append_json(&json, client, wish);
	else
		append_toml(out, wish);
}
