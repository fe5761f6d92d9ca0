/* SPDX-License-Identifier: Apache-2.0
 *
 * The known MCP clients, and what each must be told of msp in its own format.
 */
#ifndef CLI_CLIENT_CLIENT_H
#define CLI_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frontend/json_write.h"
#include "launcher/host/workspace.h"

/* The id under which VS Code keeps the token that it asks its user for. */
#define CLIENT_TOKEN_INPUT "msp-token"
#define CLIENT_TOKEN_ENV "MSP_TOKEN"
#define CLIENT_UNIX_SCHEME "unix:///"

struct client {
	const char *name;
	const char *servers; /* the member that holds the servers; NULL: TOML */
	const char *place;
	const char *http_place; /* NULL: the same */
	const char *variable;   /* names the directory of the file; NULL: none does */
	const char *home; /* the file's directory beneath the home directory; NULL: a project's */
	const char *file;
	bool has_type;    /* each server says "type": "stdio" */
	const char *type; /* an HTTP server's, or NULL */
	const char *url;  /* the member that holds the URL */
	/* The marks around a variable of the environment in a member. */
	const char *before;
	const char *after;
};

/* The wanted server. */
struct client_wish {
	const char *path; /* the program msp */
	uint32_t limits;
	const char *url; /* a running server; NULL: msp is started */
	const char *token_env;
	struct workspace_words workspaces;
};

/* Return a client by name, or NULL. */
const struct client *client_find(const char *name);

/* Copy the names of all clients into `names`, of CLIENT_NAMES_MAX rows. Returns their number. */
#define CLIENT_NAMES_MAX 8
size_t client_names(const char *names[CLIENT_NAMES_MAX]);

/* Does the client ask its user for the token of this server? */
bool client_asks_token(const struct client *client, const struct client_wish *wish);

/* Write the members of the server's object; of the input that asks for the token. */
void client_write_server(struct json_writer *json, const struct client *client,
			 const struct client_wish *wish);
void client_write_input(struct json_writer *json);

/* Append the whole configuration with nothing but msp in it. */
void client_append_alone(struct buffer *out, const struct client *client,
			 const struct client_wish *wish);

#endif
