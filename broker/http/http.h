/* SPDX-License-Identifier: Apache-2.0
 *
 * MCP over HTTP: the transport "Streamable HTTP" of both eras at the path /mcp. A request passes a
 * series of checks (ladder.h), then it is a POST (post.h), or a legacy session's GET or DELETE
 * (legacy.h).
 */
#ifndef BROKER_HTTP_HTTP_H
#define BROKER_HTTP_HTTP_H

#include "http/connection.h"
#include "http/tokens.h"
#include "mcp/core/host.h"

#define HTTP_PATH "/mcp"

#define HTTP_JSON "application/json"
#define HTTP_EVENTS "text/event-stream"

struct legacy;

struct http {
	struct host *host;
	struct connections connections;
	struct tokens tokens;
	struct legacy *sessions; /* sessions of the legacy era */
	uint32_t session_count;
	struct event *sweep;
};

/* The properties of a request that the checks found. */
struct inbound {
	struct http *http;
	struct connection *connection;
	struct evhttp_request *request;
	struct evkeyvalq *headers;
	enum evhttp_cmd_type method;
	uint32_t principal;
};

/* Return a header's value; NULL: it is absent. */
const char *inbound_header(const struct inbound *inbound, const char *name);

/* Open the files that libraries need, and set limits, before the process is confined. False: it
 * failed. */
bool http_prepare(void);

/* Make a server. `listener` is a listening nonblocking socket and `tokens` the token file or
 * /dev/null; both stay the caller's. Serving begins with http_open(). NULL: the descriptors do not
 * fit, and stderr says why. */
struct http *http_new(struct host *host, int listener, int tokens);
void http_open(struct http *http);

/* Free it. Returns NULL. */
struct http *http_free(struct http *http);

#endif
