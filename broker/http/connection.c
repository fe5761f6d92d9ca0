/* SPDX-License-Identifier: Apache-2.0
 *
 * evhttp of libevent 2.1.12 makes a bufferevent for each connection through a function of ours,
 * and calls us again only for a whole request. The bufferevent's input reports every byte before
 * evhttp reads it, which is where the guard stands (connection_intake.c): a connection that breaks
 * a rule is taken over by setting callbacks of our own on its bufferevent. evhttp exposes its
 * evhttp_connection only with a request; until then it is the argument of the callbacks that
 * evhttp set.
 *
 * While we handle a request evhttp does not read. Callbacks of our own do, to see the client's
 * end. Once an answer begins evhttp reads again, and reports an end through the close callback.
 */
#include "http/connection.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/connection_parts.h"
#include "io/clock.h"
#include "lib/heap/chain.h"
#include "lib/heap/memory.h"

/* Above this bound, output that can wait should wait. */
#define QUEUE_HIGH_BYTES ((size_t)256 << 10)

/* Connections accepted in one round: each of the existing ones is read from at least once before
 * newer ones can push it out. */
#define ACCEPT_BATCH (HTTP_UNKNOWN_MAX / 4)

size_t connection_queued(const struct connection *connection)
{
	return evbuffer_get_length(bufferevent_get_output(connection->bufferevent));
}

void connections_look_soon(struct connections *connections)
{
	event_active(connections->deferred, 0, 0);
}

static void set_phase(struct connection *connection, enum phase phase)
{
	connection->phase = phase;
	connection->since_ms = clock_steady_ms();
	connection->said_ms = connection->moved_ms = connection->since_ms;
	connection->queued = 0;
}

static void connection_forget_taken(struct connection *connection)
{
	connection->connections->taken -= connection->taken;
	connection->taken = 0;
}

/* Take a connection out of the list and tell the owner of its answer. evhttp frees the rest. */
static void drop_connection(struct connection *connection)
{
	struct connections *connections = connection->connections;

	CHAIN_REMOVE(connections->first, connection, next);
	connection_forget_taken(connection);
	if (connection->gone)
		connection->gone(connection->owner);
	buffer_done(&connection->held);
	free(connection);
	connections_look_soon(connections); /* another connection may be accepted */
}

/* evhttp is about to free the connection. evhttp has detached a request that we may still use;
 * freeing it is our task. */
static void on_close(struct evhttp_connection *evcon, void *argument)
{
	struct connection *connection = argument;

	if (connection->request && !evhttp_request_get_connection(connection->request))
		evhttp_request_free(connection->request);
	connection->request = NULL;
	drop_connection(connection);
}

static void on_refused_input(struct bufferevent *bufferevent, void *argument)
{
	struct evbuffer *input = bufferevent_get_input(bufferevent);

	(void)evbuffer_drain(input, evbuffer_get_length(input));
}

static void on_end(struct bufferevent *bufferevent, short what, void *argument)
{
	const struct connection *connection = argument;

	evhttp_connection_free(connection->evcon);
}

/* The refusal is written and ends the connection, but the client may still be sending. */
static void on_refusal_written(struct bufferevent *bufferevent, void *argument)
{
	(void)shutdown(bufferevent_getfd(bufferevent),
		       SHUT_WR); /* if it fails, the connection is closed later */
}

void connection_refuse(struct connection *connection, const struct fault *fault)
{
	struct evbuffer *input = bufferevent_get_input(connection->bufferevent);
	struct evbuffer *output = bufferevent_get_output(connection->bufferevent);
	char body[256];
	const int size = snprintf(
		body, sizeof(body),
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"%s\"}}",
		fault->text);

	set_phase(connection, PHASE_REFUSED);
	connection_forget_taken(connection);
	buffer_done(&connection->held);
	(void)evbuffer_drain(input, evbuffer_get_length(input));
	trouble_note(&connection->connections->troubles, fault->trouble);
	bufferevent_setcb(connection->bufferevent, on_refused_input, on_refusal_written, on_end,
			  connection);
	(void)evbuffer_add_printf(output,
				  "HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
				  "Content-Length: %d\r\nCache-Control: no-store\r\n"
				  "Connection: close\r\n%s\r\n%s",
				  fault->status, size, fault->header ? fault->header : "", body);
	(void)bufferevent_enable(connection->bufferevent, EV_READ | EV_WRITE);
}

/* Called by evhttp for each connection that it accepts. */
static struct bufferevent *make_bufferevent(struct event_base *base, void *argument)
{
	struct connections *connections = argument;
	struct connection *connection = memory_get_zeroed(1, sizeof(*connection));

	connection->connections = connections;
	connection->bufferevent = bufferevent_socket_new(base, -1, 0);
	if (!connection->bufferevent ||
	    !evbuffer_add_cb(bufferevent_get_input(connection->bufferevent), connection_on_input,
			     connection))
		give_up("memory for a connection");
	set_phase(connection, PHASE_NEW);
	connection->unknown_ms = connection->since_ms;
	connection->next = connections->first;
	connections->first = connection;
	room_for_unknown(connections);
	if (++connections->batch == ACCEPT_BATCH)
		(void)evconnlistener_disable(connections->listener);
	connections_look_soon(connections);
	return connection->bufferevent;
}

/* Check the user of the peer in addition to the mode of the socket file. */
static bool is_peer_us(int fd)
{
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == getuid();
}

static void greet_connection(struct connection *connection)
{
	FAULT(stranger, TROUBLE_PEER, "403 Forbidden", "This socket belongs to another user");
	const int fd = bufferevent_getfd(connection->bufferevent);
	const int yes = 1;
	void *evcon = NULL;

	bufferevent_getcb(connection->bufferevent, NULL, NULL, NULL, &evcon);
	if (!evcon)
		bug("evhttp's connection is not where it is looked for");
	connection->evcon = evcon;
	connection->phase = PHASE_READING;
	evhttp_connection_set_closecb(evcon, on_close, connection);
	if (!connection->connections->is_unix) /* events are small; failure does no harm */
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	else if (!is_peer_us(fd))
		connection_refuse(connection, &stranger);
}

/* Look at one connection. False: other connections may have ended with it. */
static bool look_at(struct connection *connection)
{
	if (connection->is_doomed) {
		evhttp_connection_free(connection->evcon);
		return false;
	}
	if (connection->phase == PHASE_NEW)
		greet_connection(connection);
	if (connection->phase == PHASE_READING && connection_continue(connection))
		bufferevent_trigger(connection->bufferevent, EV_READ, BEV_TRIG_DEFER_CALLBACKS);
	return true;
}

/* New connections have their evhttp_connection now, and no caller is using a connection. */
static void on_deferred(evutil_socket_t fd, short what, void *argument)
{
	struct connections *connections = argument;
	struct connection *connection = connections->first;

	while (connection) {
		struct connection *next = connection->next;

		if (!look_at(connection)) {
			connections_look_soon(connections);
			return;
		}
		connection = next;
	}
	connections->batch = 0;
	(void)evconnlistener_enable(connections->listener);
}

/* libevent sets the argument of the listener's callbacks to evhttp's. */
static struct connections *accepting;

/* The process has probably run out of descriptors: wait for the next look, and make room. */
static void on_accept_error(struct evconnlistener *listener, void *argument)
{
	(void)evconnlistener_disable(listener);
	room_for_descriptor(accepting);
}

void connections_init(struct connections *connections, struct event_base *base, int listener,
		      const struct connection_rules *rules, void *context)
{
	const int every_method = EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD |
				 EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS |
				 EVHTTP_REQ_TRACE | EVHTTP_REQ_CONNECT | EVHTTP_REQ_PATCH;
	int domain = 0;
	socklen_t size = sizeof(domain);

	memset(connections, 0, sizeof(*connections));
	accepting = connections;
	connections->base = base;
	connections->rules = rules;
	connections->context = context;
	if (getsockopt(listener, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0)
		bug("a listener that is no socket");
	connections->is_unix = domain == AF_UNIX;
	connections->evhttp = evhttp_new(base);
	connections->deferred = event_new(base, -1, 0, on_deferred, connections);
	connections->listener = evconnlistener_new(
		base, NULL, NULL, LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_DISABLED, 0, listener);
	if (!connections->evhttp || !connections->deferred || !connections->listener)
		give_up("memory for the HTTP server");
	evconnlistener_set_error_cb(connections->listener, on_accept_error);
	evhttp_set_allowed_methods(connections->evhttp, (ev_uint16_t)every_method);
	evhttp_set_max_headers_size(connections->evhttp, (ev_ssize_t)HTTP_HEADER_BYTES_MAX);
	evhttp_set_max_body_size(connections->evhttp, (ev_ssize_t)HTTP_BODY_BYTES_MAX);
	evhttp_set_default_content_type(connections->evhttp, NULL);
	evhttp_set_bevcb(connections->evhttp, make_bufferevent, connections);
	evhttp_set_gencb(connections->evhttp, rules->handle, context);
	if (!evhttp_bind_listener(connections->evhttp, connections->listener))
		give_up("memory for the HTTP server");
}

void connections_open(struct connections *connections)
{
	(void)evconnlistener_enable(connections->listener);
}

void connections_done(struct connections *connections)
{
	evhttp_free(connections->evhttp); /* frees the listener and the connections too */
	event_free(connections->deferred);
}

struct connection *connection_take(struct connections *connections, struct evhttp_request *request)
{
	struct evhttp_connection *evcon = evhttp_request_get_connection(request);
	struct connection *connection = connections->first;

	while (connection && connection->evcon != evcon)
		connection = connection->next;
	if (!connection)
		bug("a request of no connection");
	connection_forget_taken(connection);
	set_phase(connection, PHASE_PENDING);
	connection->request = request;
	bufferevent_setcb(connection->bufferevent, NULL, NULL, on_end, connection);
	(void)bufferevent_enable(connection->bufferevent, EV_READ);
	return connection;
}

void connection_set_owner(struct connection *connection, void (*gone)(void *owner), void *owner)
{
	connection->gone = gone;
	connection->owner = owner;
}

bool connection_is_known(const struct connection *connection)
{
	return connection->is_known;
}

uint32_t connection_principal(const struct connection *connection)
{
	return connection->principal;
}

struct connection *connection_next(struct connections *connections, struct connection *after)
{
	return after ? after->next : connections->first;
}

void connection_add_header(struct connection *connection, const char *name, const char *value)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(connection->request);

	if (evhttp_add_header(headers, name, value) != 0)
		bug("a header that cannot be written");
}

/* The answer is sent, and evhttp is about to read the next request or to close the connection. */
static void on_complete(struct evhttp_request *request, void *argument)
{
	struct connection *connection = argument;

	set_phase(connection, PHASE_READING);
	connection->intake = INTAKE_HEAD;
	connection->seen = 0;
	connection->taken = connection->held.size;
	connection->connections->taken += connection->taken;
	connections_look_soon(connection->connections);
}

/* The answer is complete; evhttp keeps the request until it is sent. */
static struct evhttp_request *let_go(struct connection *connection)
{
	struct evhttp_request *request = connection->request;

	connection->request = NULL;
	connection->gone = NULL;
	set_phase(connection, PHASE_FLUSHING);
	evhttp_request_set_on_complete_cb(request, on_complete, connection);
	return request;
}

static void refuse_growth(struct connection *connection)
{
	if (!room_is_exceeded(connection))
		return;
	trouble_note(&connection->connections->troubles, TROUBLE_NOT_READING);
	connection_doom(connection);
}

static struct evbuffer *copy_text(const char *bytes, size_t size)
{
	struct evbuffer *copied = evbuffer_new();

	if (!copied || evbuffer_add(copied, bytes, size) != 0)
		give_up("memory for an answer");
	return copied;
}

void connection_reply(struct connection *connection, int status, const char *content_type,
		      const struct buffer *body)
{
	struct evbuffer *content = NULL;

	connection_add_header(connection, "Cache-Control", "no-store");
	if (status == 400 || status == 401) /* the rest of the input is not read */
		connection_add_header(connection, "Connection", "close");
	if (body && evhttp_request_get_command(connection->request) != EVHTTP_REQ_HEAD) {
		connection_add_header(connection, "Content-Type", content_type);
		content = copy_text(body->bytes, body->size);
		connection->connections->queued += body->size;
	}
	evhttp_send_reply(let_go(connection), status, NULL, content);
	refuse_growth(connection);
	if (content)
		evbuffer_free(content);
}

void connection_start_stream(struct connection *connection, const char *content_type)
{
	connection_add_header(connection, "Cache-Control", "no-store");
	connection_add_header(connection, "Content-Type", content_type);
	connection_add_header(connection, "X-Accel-Buffering", "no");
	set_phase(connection, PHASE_STREAMING);
	evhttp_send_reply_start(connection->request, HTTP_OK, NULL);
}

void connection_stream(struct connection *connection, const char *bytes, size_t size)
{
	struct evbuffer *content = copy_text(bytes, size);

	evhttp_send_reply_chunk(connection->request, content);
	evbuffer_free(content);
	connection->said_ms = clock_steady_ms();
	connection->connections->queued += size;
	refuse_growth(connection);
}

void connection_end_stream(struct connection *connection)
{
	evhttp_send_reply_end(let_go(connection));
}

bool connection_is_behind(const struct connection *connection)
{
	return connection_queued(connection) > QUEUE_HIGH_BYTES;
}

void connection_doom(struct connection *connection)
{
	connection->is_doomed = true;
	connections_look_soon(connection->connections);
}
