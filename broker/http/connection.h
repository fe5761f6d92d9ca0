/* SPDX-License-Identifier: Apache-2.0
 *
 * The connections of the HTTP server. evhttp reads requests and frames answers; what it leaves open
 * is here: the strict form of a request, how many connections there are and whose, how long a
 * request may take to arrive, how much of one may wait, who may connect, that a client is gone
 * while its answer is awaited, and how much may wait to be sent. See
 * docs/decisions/0027-evhttp-behind-a-guard.md and 0062-one-request-at-a-time.md.
 */
#ifndef BROKER_HTTP_CONNECTION_H
#define BROKER_HTTP_CONNECTION_H

#include <event2/event.h>
#include <event2/http.h>
#include <stdbool.h>
#include <stdint.h>

#include "http/trouble.h"
#include "io/buffer.h"

/* At once; of them, those whose client has not proved yet who it is. */
#define HTTP_CONNECTIONS_MAX 500U
#define HTTP_UNKNOWN_MAX 100U

struct connection;

/* Of whoever serves; `context` is that of connections_init(). */
struct connection_rules {
	/* A whole request: connection_take() it. */
	void (*handle)(struct evhttp_request *request, void *context);
	/* The head of a request has come with this Authorization (NULL: none): whose is it? False:
	 * nobody's that is known. */
	bool (*identify)(void *context, const char *authorization, uint32_t *ret_principal);
};

struct connections {
	struct event_base *base;
	struct evhttp *evhttp;
	struct evconnlistener *listener;
	struct connection *first;
	struct event *deferred; /* looks at new, continued and doomed connections soon */
	const struct connection_rules *rules;
	void *context;
	uint32_t batch; /* accepted since the last look */
	bool is_unix;
	size_t taken;  /* bytes of requests that are not handed over yet, of all */
	size_t queued; /* bytes that wait to be sent, of all, at the last look */
	struct troubles troubles;
};

/* `listener` is listening, nonblocking and stays the caller's; nothing is accepted before
 * connections_open(). */
void connections_init(struct connections *connections, struct event_base *base, int listener,
		      const struct connection_rules *rules, void *context);
void connections_open(struct connections *connections);
void connections_done(struct connections *connections);

/* To be called about once a second: end what is too slow, keep streams alive. */
void connections_sweep(struct connections *connections);

/* Take a request from evhttp; in its handler only. From here on somebody owes it an answer. */
struct connection *connection_take(struct connections *connections, struct evhttp_request *request);

/* Who owes the answer is told when the client is gone: no function of the connection may be called
 * any more then. */
void connection_set_owner(struct connection *connection, void (*gone)(void *owner), void *owner);

/* Whose its newest request is; false, and principal 0: nobody's that is known. */
bool connection_is_known(const struct connection *connection);
uint32_t connection_principal(const struct connection *connection);
struct connection *connection_next(struct connections *connections, struct connection *after);

/* The answers. The owner is forgotten with the end of one; the connection may go on with another
 * request, or be gone: it is not to be used any more. */
void connection_add_header(struct connection *connection, const char *name, const char *value);
void connection_reply(struct connection *connection, int status, const char *content_type,
		      const struct buffer *body);
void connection_start_stream(struct connection *connection, const char *content_type);
void connection_stream(struct connection *connection, const char *bytes, size_t size);
void connection_end_stream(struct connection *connection);

/* Does much wait to be sent? */
bool connection_is_behind(const struct connection *connection);

/* Close it soon, whatever it is about; its owner is told. */
void connection_doom(struct connection *connection);

#endif
