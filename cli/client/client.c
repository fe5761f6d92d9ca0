/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client.h"

#include <string.h>

#include "common/ipc/limits_mode.h"
#include "common/text/format.h"

/* clang-format off */
static const struct client clients[] = {
	{ .name = "claude", .program = "claude",
	  .add = "mcp add --scope project msp -- @server",
	  .add_http = "mcp add --scope project --transport http msp @url --header @header",
	  .remove = "mcp remove --scope project msp",
	  .place = ".mcp.json of a project (Claude Code), or claude_desktop_config.json (Claude Desktop)",
	  .http_place = ".mcp.json of a project",
	  .servers = "mcpServers", .http_type = "http", .url = "url", .before = "${", .after = "}" },
	{ .name = "codex", .program = "codex",
	  .add = "mcp add msp -- @server",
	  .add_http = "mcp add msp --url @url --bearer-token-env-var @variable",
	  .place = "~/.codex/config.toml", .url = "url" },
	{ .name = "cursor", .place = "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
	  .servers = "mcpServers", .url = "url", .before = "${env:", .after = "}" },
	{ .name = "vscode", .program = "code", .add = "--add-mcp @json", .add_http = "--add-mcp @json",
	  .place = ".vscode/mcp.json of a project",
	  .servers = "servers", .stdio_type = "stdio", .http_type = "http", .url = "url",
	  .asks_token = true, .before = "${input:", .after = "}" },
	{ .name = "gemini", .program = "gemini",
	  .add = "mcp add --scope user msp @server",
	  .add_http = "mcp add --scope user --transport http msp @url --header @header",
	  .place = "~/.gemini/settings.json, or .gemini/settings.json of a project",
	  .servers = "mcpServers", .url = "httpUrl", .before = "${", .after = "}" },
	{ .name = "qwen", .program = "qwen",
	  .add = "mcp add --scope user msp @server",
	  .add_http = "mcp add --scope user --transport http msp @url --header @header",
	  .place = "~/.qwen/settings.json, or .qwen/settings.json of a project",
	  .servers = "mcpServers", .url = "httpUrl", .before = "${", .after = "}" },
	{ .name = "opencode", .program = "opencode",
	  .add = "mcp add msp -- @server",
	  .add_http = "mcp add msp --url @url --header @pair",
	  .place = "~/.config/opencode/opencode.json, or opencode.json of a project",
	  .servers = "mcp", .stdio_type = "local", .http_type = "remote", .url = "url",
	  .has_one_command = true, .before = "{env:", .after = "}" },
	{ .name = "copilot", .program = "copilot",
	  .add = "mcp add msp -- @server",
	  .add_http = "mcp add --transport http --header @header msp @url",
	  .remove = "mcp remove msp",
	  .place = "~/.copilot/mcp-config.json, or .mcp.json of a project",
	  .servers = "mcpServers", .stdio_type = "local", .http_type = "http", .url = "url",
	  .before = "${", .after = "}" },
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

const char *client_variable(const struct client_wish *wish)
{
	return wish->token_env ? wish->token_env : CLIENT_TOKEN_ENV;
}

/* Is there a token? A unix socket needs none unless one is named. */
static bool has_token(const struct client_wish *wish)
{
	return wish->token_env ||
	       strncmp(wish->url, CLIENT_UNIX_SCHEME, strlen(CLIENT_UNIX_SCHEME)) != 0;
}

static void format_bearer(const struct client *client, const struct client_wish *wish,
			  char ret[HEADER_MAX])
{
	format_text(ret, HEADER_MAX, "Bearer %s%s%s", client->before,
		    client->asks_token ? CLIENT_TOKEN_INPUT : client_variable(wish), client->after);
}

static void append_word(struct buffer *words, const char *text)
{
	buffer_append(words, text, strlen(text) + 1);
}

/* Append the words that start msp, with a NUL after each. */
static void append_server(struct buffer *words, const struct client_wish *wish)
{
	append_word(words, wish->path);
	append_word(words, "serve");
	if (wish->limits == LIMITS_FALLBACK)
		append_word(words, "--limits=fallback");
	for (uint32_t i = 0; i < wish->workspaces.count; i++) {
		buffer_format(words, "--workspace=%s", wish->workspaces.words[i]);
		buffer_append(words, "", 1);
	}
}

static void write_stdio(struct json_writer *json, const struct client *client,
			const struct client_wish *wish)
{
	struct buffer words = { 0 };
	size_t at = 0;

	append_server(&words, wish);
	if (client->stdio_type)
		json_put_text(json, "type", client->stdio_type);
	if (!client->has_one_command) {
		json_put_text(json, "command", words.bytes);
		at = strlen(words.bytes) + 1;
	}
	json_open_array(json, client->has_one_command ? "command" : "args");
	for (; at < words.size; at += strlen(words.bytes + at) + 1)
		json_put_text(json, NULL, words.bytes + at);
	json_close_array(json);
	buffer_done(&words);
}

static void write_http(struct json_writer *json, const struct client *client,
		       const struct client_wish *wish)
{
	char bearer[HEADER_MAX];

	if (client->http_type)
		json_put_text(json, "type", client->http_type);
	json_put_text(json, client->url, wish->url);
	if (!has_token(wish))
		return;
	format_bearer(client, wish, bearer);
	json_open_object(json, "headers");
	json_put_text(json, "Authorization", bearer);
	json_close_object(json);
}

static void write_server(struct json_writer *json, const struct client *client,
			 const struct client_wish *wish)
{
	if (wish->url)
		write_http(json, client, wish);
	else
		write_stdio(json, client, wish);
}

/* Write the input for which the client asks its user, if it does for this server's token. */
static void write_inputs(struct json_writer *json, const struct client *client,
			 const struct client_wish *wish)
{
	if (!wish->url || !client->asks_token || !has_token(wish))
		return;
	json_open_array(json, "inputs");
	json_open_object(json, NULL);
	json_put_text(json, "type", "promptString");
	json_put_text(json, "id", CLIENT_TOKEN_INPUT);
	json_put_text(json, "description", "The token that 'msp token create' showed");
	json_put_bool(json, "password", true);
	json_close_object(json);
	json_close_array(json);
}

static void append_json(struct buffer *out, const struct client *client,
			const struct client_wish *wish)
{
	struct json_writer json = { .out = out, .form = JSON_LINES };

	json_open_object(&json, NULL);
	json_open_object(&json, client->servers);
	json_open_object(&json, "msp");
	write_server(&json, client, wish);
	json_close_object(&json);
	json_close_object(&json);
	write_inputs(&json, client, wish);
	json_close_object(&json);
	buffer_append_text(out, "\n");
}

/* Append a table of TOML, whose basic strings have JSON's escapes. */
static void append_toml(struct buffer *out, const struct client_wish *wish)
{
	struct json_writer json = { .out = out, .form = JSON_LINES };
	struct buffer words = { 0 };

	buffer_format(out, "[mcp_servers.msp]\n%s = ", wish->url ? "url" : "command");
	json_put_text(&json, NULL, wish->url ? wish->url : wish->path);
	if (wish->url) {
		buffer_format(out, "\nbearer_token_env_var = \"%s\"\n", client_variable(wish));
		return;
	}
	append_server(&words, wish);
	buffer_append_text(out, "\nargs = [");
	for (size_t first = strlen(words.bytes) + 1, at = first; at < words.size;
	     at += strlen(words.bytes + at) + 1)
		buffer_format(out, "%s\"%s\"", at > first ? ", " : "", words.bytes + at);
	buffer_append_text(out, "]\n");
	buffer_done(&words);
}

void client_append_text(struct buffer *out, const struct client *client,
			const struct client_wish *wish)
{
	if (client->servers)
		append_json(out, client, wish);
	else
		append_toml(out, wish);
}

/* Append the server as one word of JSON, with its name beside its members. */
static void append_json_word(struct buffer *words, const struct client *client,
			     const struct client_wish *wish)
{
	struct json_writer json = { .out = words, .form = JSON_LINE };

	json_open_object(&json, NULL);
	json_put_text(&json, "name", "msp");
	write_server(&json, client, wish);
	write_inputs(&json, client, wish);
	json_close_object(&json);
	buffer_append(words, "", 1);
}

/* Append the words for one of a template: itself, or those of a name that begins with '@'. */
static void append_expanded(struct buffer *words, const char *word, const struct client *client,
			    const struct client_wish *wish)
{
	char bearer[HEADER_MAX];

	if (strcmp(word, "@server") == 0) {
		append_server(words, wish);
	} else if (strcmp(word, "@url") == 0) {
		append_word(words, wish->url);
	} else if (strcmp(word, "@variable") == 0) {
		append_word(words, client_variable(wish));
	} else if (strcmp(word, "@json") == 0) {
		append_json_word(words, client, wish);
	} else if (strcmp(word, "@header") == 0 || strcmp(word, "@pair") == 0) {
		format_bearer(client, wish, bearer);
		buffer_format(words, "Authorization%s%s", word[1] == 'p' ? "=" : ": ", bearer);
		buffer_append(words, "", 1);
	} else {
		append_word(words, word);
	}
}

void client_append_command(struct buffer *words, const struct client *client,
			   const struct client_wish *wish)
{
	const char *rest = wish->url ? client->add_http : client->add;
	char word[32];

	while (*rest) {
		const size_t size = strcspn(rest, " ");

		format_text(word, sizeof(word), "%.*s", (int)size, rest);
		append_expanded(words, word, client, wish);
		rest += size + (rest[size] == ' ');
	}
}
