/* SPDX-License-Identifier: Apache-2.0
 *
 * The connections of the HTTP server. evhttp reads requests and frames answers. This module adds
 * the strict form of a request, limits on connections by principal, on the time a request takes to
 * arrive and on the bytes it holds, the check of the peer, notice of a client's end while its
 * answer is awaited, and a limit on bytes that wait to be sent. See
 * docs/decisions/0027-http.md and 0027-http.md.
 */
#ifndef BROKER_HTTP_CONNECTION_H
#define BROKER_HTTP_CONNECTION_H

#include <event2/event.h>
#include <event2/http.h>
#include <stdbool.h>
#include <stdint.h>

#include "http/trouble.h"
#include "lib/heap/buffer.h"

/* Connections at once, and those of them whose client has not been identified yet. */
#define HTTP_CONNECTIONS_MAX 500U
#define HTTP_UNKNOWN_MAX 100U

struct connection;

/* Callbacks of the server; `context` is that of connections_init(). */
struct connection_rules {
	/* Handle a whole request: connection_take() it. */
	void (*handle)(struct evhttp_request *request, void *context);
	/* Find the principal of a request whose head has come with this Authorization (NULL: none).
	 * False: no principal is known by it. */
	bool (*identify)(void *context, const char *authorization, uint32_t *ret_principal);
};

struct connections {
	struct event_base *base;
	struct evhttp *evhttp;
	struct evconnlistener *listener;
	struct connection *first;
	struct event *deferred; /* looks at new, continued and doomed connections in the next round
				   of the loop */
	const struct connection_rules *rules;
	void *context;
	uint32_t batch; /* connections accepted since the last look */
	bool is_unix;
	size_t taken;  /* bytes of all requests that are still arriving */
	size_t queued; /* bytes that wait to be sent on all connections, at the last look */
	struct troubles troubles;
};

/* `listener` is listening, nonblocking and stays the caller's; accepting begins with
 * connections_open(). */
void connections_init(struct connections *connections, struct event_base *base, int listener,
		      const struct connection_rules *rules, void *context);
void connections_open(struct connections *connections);
void connections_done(struct connections *connections);

/* End slow connections and keep streams alive; call it about once a second. */
void connections_sweep(struct connections *connections);

/* Take a request from evhttp, only inside its handler. The caller owes it an answer from then
 * on. */
struct connection *connection_take(struct connections *connections, struct evhttp_request *request);

/* Set the owner of the answer. `gone` reports the client's end; no function of the connection may
 * be called afterwards. */
void connection_set_owner(struct connection *connection, void (*gone)(void *owner), void *owner);

/* Return true if the principal of its newest request is known; if false, it is principal 0. */
bool connection_is_known(const struct connection *connection);
uint32_t connection_principal(const struct connection *connection);
struct connection *connection_next(struct connections *connections, struct connection *after);

/* Send the answer. Its end forgets the owner; the connection may then take another request or be
 * freed, so the caller must not use it any more. */
void connection_add_header(struct connection *connection, const char *name, const char *value);
void connection_reply(struct connection *connection, int status, const char *content_type,
		      const struct buffer *body);
void connection_start_stream(struct connection *connection, const char *content_type);
void connection_stream(struct connection *connection, const char *bytes, size_t size);
void connection_end_stream(struct connection *connection);

/* Return true while much waits to be sent. */
bool connection_is_behind(const struct connection *connection);

/* Close it soon in any state; its owner is told. */
void connection_doom(struct connection *connection);

#endif
