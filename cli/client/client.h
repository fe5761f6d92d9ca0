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

/* A client. In the words of its command @server, @url, @header, @pair (the header as NAME=VALUE),
 * @variable (the token's) and @json (the server as an object) stand for those of the wish. */
struct client {
	const char *name;
	const char *program;    /* its command line, which adds a server; NULL: none does */
	const char *add;        /* the words for a server that the client starts */
	const char *add_http;   /* the words for a running server */
	const char *remove;     /* the words that remove a server; NULL: the client replaces one */
	const char *place;      /* the file of the printed text */
	const char *http_place; /* NULL: the same */
	const char *servers;    /* the member that holds the servers; NULL: TOML */
	const char *stdio_type; /* the type of a server that the client starts, or NULL */
	const char *http_type;  /* the type of a running server, or NULL */
	const char *url;        /* the member that holds the URL */
	bool has_one_command;   /* the program and its arguments are one array */
	bool asks_token;        /* the client asks its user for the token */
	/* The marks around a variable of the environment, or an input, in a member. */
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

/* Return the name of the variable that holds the token. */
const char *client_variable(const struct client_wish *wish);

/* Append the whole configuration with nothing but msp in it. */
void client_append_text(struct buffer *out, const struct client *client,
			const struct client_wish *wish);

/* Append the words with which the client's program adds the server, with a NUL after each. */
void client_append_command(struct buffer *words, const struct client *client,
			   const struct client_wish *wish);

#endif
