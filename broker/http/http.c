/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http.h"

#include <event2/http_struct.h>
#include <sodium.h>
#include <stdlib.h>

#include "common/fd.h"
#include "common/log.h"
#include "http/headers.h"
#include "http/ladder.h"
#include "http/legacy.h"
#include "http/post.h"
#include "lib/heap/memory.h"

static const struct timeval sweep_time = { .tv_sec = 1 };

bool http_prepare(void)
{
	fd_raise_limit();
	return sodium_init() >= 0;
}

static void on_request(struct evhttp_request *request, void *context)
{
	struct http *http = context;
	struct inbound inbound = {
		.http = http,
		.connection = connection_take(&http->connections, request),
		.request = request,
		.headers = evhttp_request_get_input_headers(request),
		.method = evhttp_request_get_command(request),
	};

	if (!ladder_pass(&inbound))
		return;
	if (inbound.method == EVHTTP_REQ_POST)
		post_take(&inbound);
	else if (inbound.method == EVHTTP_REQ_GET)
		legacy_get(&inbound);
	else
		legacy_delete(&inbound);
}

/* Without a token file every client is principal 0. */
static bool identify_client(void *context, const char *authorization, uint32_t *ret_principal)
{
	struct http *http = context;
	const char *token = authorization ? header_bearer(authorization) : NULL;

	*ret_principal = 0;
	tokens_refresh(&http->tokens);
	if (!http->tokens.are_needed)
		return true;
	return token && tokens_find(&http->tokens, token, ret_principal);
}

static const struct connection_rules rules = { on_request, identify_client };

/* Stop serving principals whose token was revoked, and end their executions. */
static void end_revoked(struct http *http)
{
	struct connection *connection = NULL;

	while ((connection = connection_next(&http->connections, connection)) != NULL) {
		if (connection_principal(connection) != 0 &&
		    !tokens_admit(&http->tokens, connection_principal(connection)))
			connection_doom(connection);
	}
	for (uint32_t principal = 1; principal <= http->tokens.name_count; principal++) {
		const struct execution_owner owner = { .principal = principal };

		if (!tokens_admit(&http->tokens, principal))
			executions_end_owner(http->host->executions, &owner);
	}
}

static void on_sweep(evutil_socket_t fd, short what, void *argument)
{
	struct http *http = argument;

	tokens_refresh(&http->tokens);
	end_revoked(http);
	legacy_sweep(http);
	connections_sweep(&http->connections);
}

static const char *name_principal(const void *context, uint32_t principal)
{
	return tokens_name(context, principal);
}

struct http *http_new(struct host *host, int listener, int tokens)
{
	struct http *http = memory_get_zeroed(1, sizeof(*http));

	http->host = host;
	host->name_principal = name_principal;
	host->principals = &http->tokens;
	connections_init(&http->connections, host->base, listener, &rules, http);
	if (tokens_open(&http->tokens, tokens) != 0)
		log_line("descriptor 1 is neither a token file nor /dev/null");
	else if (!http->tokens.are_needed && !http->connections.is_unix)
		log_line("a server that other users of this machine can reach needs a token file");
	else
		http->sweep = event_new(host->base, -1, EV_PERSIST, on_sweep, http);
	return http->sweep ? http : http_free(http);
}

void http_open(struct http *http)
{
	if (event_add(http->sweep, &sweep_time) != 0)
		give_up("a timer");
	connections_open(&http->connections);
}

struct http *http_free(struct http *http)
{
	if (!http)
		return NULL;
	while (http->sessions)
		legacy_end(http->sessions);
	connections_done(&http->connections);
	tokens_close(&http->tokens);
	if (http->sweep)
		event_free(http->sweep);
	free(http);
	return NULL;
}
