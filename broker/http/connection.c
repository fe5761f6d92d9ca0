/* SPDX-License-Identifier: Apache-2.0
 *
 * evhttp of libevent 2.1.12 makes a bufferevent for each connection through a function of ours,
 * and after that it calls us for a whole request only. The bufferevent's input tells us of every
 * byte before evhttp looks at it, which is where limits are enforced: a connection that breaks one
 * is taken over by giving its bufferevent callbacks of our own. Its evhttp_connection, which
 * evhttp keeps to itself until there is a request, is the argument of the callbacks that it sets.
 *
 * While a request is in our hands evhttp does not read. We do, with callbacks of our own, to see
 * the client's end; what it sends too early is kept, up to a limit. As soon as an answer begins
 * evhttp reads again by itself, and reports an end through the close callback.
 */
#include "http/connection.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http_struct.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "memory.h"

/* From the first byte of a request to its last. */
#define REQUEST_MS 30000
/* Without any request: clients keep a connection for later for less. */
#define IDLE_MS 60000
/* For a refusal to be read, by a client that goes on sending what nobody takes. */
#define LINGER_MS 3000
/* While something waits to be sent and nothing can be. */
#define STUCK_MS 30000
#define KEEP_ALIVE_MS 15000

/* What may wait: of all requests that are arriving, of one answer, of all answers. */
#define TAKEN_BYTES_MAX ((size_t)64 << 20)
#define QUEUE_BYTES_MAX ((size_t)4 << 20)
#define QUEUES_BYTES_MAX ((size_t)128 << 20)
/* Above this, who can wait with saying something should. */
#define QUEUE_HIGH_BYTES ((size_t)256 << 10)
/* What a client may send while its last request is being answered. */
#define EARLY_BYTES_MAX ((size_t)64 << 10)

/* A request that announces so much is not worth being read for the sake of its client, which hears
 * of a refusal only when it has been. */
#define HOPELESS_BYTES (16 * HTTP_BODY_BYTES_MAX)

#define METHOD_BYTES_MAX 8

enum phase {
	PHASE_NEW,       /* accepted, not looked at yet */
	PHASE_READING,   /* between requests or within one */
	PHASE_PENDING,   /* a request is in our hands */
	PHASE_STREAMING, /* its answer has begun */
	PHASE_FLUSHING,  /* its answer is complete, but not sent */
	PHASE_REFUSED,   /* taken over: what comes is thrown away */
};

struct connection {
	struct connection *next;
	struct connections *connections;
	struct bufferevent *bufferevent;
	struct evhttp_connection *evcon;
	struct evhttp_request *request; /* pending or streaming */
	enum phase phase;
	bool is_doomed;
	bool is_checked;  /* the beginning of its request is one that evhttp can answer */
	size_t taken;     /* bytes of the request so far */
	int64_t since_ms; /* when the phase began; of a request, its first byte */
	int64_t said_ms;  /* when anything was sent last */
	int64_t moved_ms; /* when what waits to be sent became less, or nothing did */
	size_t queued;    /* bytes that waited at the last look */
	uint32_t principal;
	void (*gone)(void *owner);
	void *owner;
};

static size_t queued(const struct connection *connection)
{
	return evbuffer_get_length(bufferevent_get_output(connection->bufferevent));
}

static void look_soon(struct connections *connections)
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

static void forget_taken(struct connection *connection)
{
	connection->connections->taken -= connection->taken;
	connection->taken = 0;
}

/* Out of the list, and told whoever owes it an answer. evhttp frees the rest. */
static void drop(struct connection *connection)
{
	struct connections *connections = connection->connections;
	struct connection **link = &connections->first;

	while (*link != connection)
		link = &(*link)->next;
	*link = connection->next;
	connections->count--;
	forget_taken(connection);
	if (connection->gone)
		connection->gone(connection->owner);
	free(connection);
	look_soon(connections); /* another one may be accepted */
}

/* evhttp is about to free the connection. A request of which it does not know whether we still use
 * it has been taken off the connection, and is ours. */
static void on_close(struct evhttp_connection *evcon, void *argument)
{
	struct connection *connection = argument;

	(void)evcon;
	if (connection->request && !evhttp_request_get_connection(connection->request))
		evhttp_request_free(connection->request);
	connection->request = NULL;
	drop(connection);
}

static void on_refused_input(struct bufferevent *bufferevent, void *argument)
{
	struct evbuffer *input = bufferevent_get_input(bufferevent);

	(void)argument;
	(void)evbuffer_drain(input, evbuffer_get_length(input));
}

static void on_end(struct bufferevent *bufferevent, short what, void *argument)
{
	const struct connection *connection = argument;

	(void)bufferevent;
	(void)what;
	evhttp_connection_free(connection->evcon);
}

/* The refusal is written: nothing follows, but the client may still be sending. */
static void on_refusal_written(struct bufferevent *bufferevent, void *argument)
{
	(void)argument;
	(void)shutdown(bufferevent_getfd(bufferevent), SHUT_WR); /* else it is closed later */
}

/* Take the connection over from evhttp, which has not answered this request and never will. */
static void refuse(struct connection *connection, enum trouble trouble, const char *status,
		   const char *text)
{
	struct evbuffer *output = bufferevent_get_output(connection->bufferevent);
	char body[256];
	const int size = snprintf(body, sizeof(body),
				  "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,"
				  "\"message\":\"%s\"}}",
				  text);

	set_phase(connection, PHASE_REFUSED);
	trouble_note(&connection->connections->troubles, trouble);
	bufferevent_setcb(connection->bufferevent, on_refused_input, on_refusal_written, on_end,
			  connection);
	(void)evbuffer_add_printf(output,
				  "HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
				  "Content-Length: %d\r\nCache-Control: no-store\r\n"
				  "Connection: close\r\n\r\n%s",
				  status, size, body);
	(void)bufferevent_enable(connection->bufferevent, EV_READ | EV_WRITE);
}

/* evhttp answers a method that it does not know with the status 0. Is what has arrived the start
 * of a request with one that it knows, or not enough to say? */
static bool begins_well(struct evbuffer *input)
{
	static const char *const methods[] = { "GET ",     "POST ",  "DELETE ",  "HEAD ", "PUT ",
					       "OPTIONS ", "TRACE ", "CONNECT ", "PATCH " };
	char start[METHOD_BYTES_MAX];
	const ev_ssize_t got = evbuffer_copyout(input, start, sizeof(start));

	for (size_t i = 0; got >= 0 && i < sizeof(methods) / sizeof(methods[0]); i++) {
		const size_t size = strlen(methods[i]);

		if (memcmp(start, methods[i], (size_t)got < size ? (size_t)got : size) == 0)
			return true;
	}
	return false;
}

static void check_request(struct connection *connection)
{
	struct connections *connections = connection->connections;
	struct evbuffer *input = bufferevent_get_input(connection->bufferevent);

	if (!connection->is_checked && !begins_well(input))
		refuse(connection, TROUBLE_NOT_HTTP, "501 Not Implemented",
		       "This is no method of HTTP");
	else if (connection->taken > HTTP_BODY_BYTES_MAX + 2 * HTTP_HEADER_BYTES_MAX)
		refuse(connection, TROUBLE_TOO_LARGE, "413 Content Too Large",
		       "The request is longer than 4194304 bytes");
	else if (connections->taken > TAKEN_BYTES_MAX)
		refuse(connection, TROUBLE_FULL, "503 Service Unavailable",
		       "Too many long requests at once; try again");
	connection->is_checked = evbuffer_get_length(input) >= METHOD_BYTES_MAX;
	if (connection->phase == PHASE_REFUSED)
		forget_taken(connection);
}

/* Each piece that arrives, before evhttp sees it. */
static void on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *argument)
{
	struct connection *connection = argument;

	if (info->n_added == 0)
		return;
	if (connection->phase == PHASE_READING || connection->phase == PHASE_NEW) {
		if (connection->taken == 0) {
			connection->since_ms = clock_steady_ms();
			connection->is_checked = false;
		}
		connection->taken += info->n_added;
		connection->connections->taken += info->n_added;
		if (connection->phase == PHASE_READING)
			check_request(connection);
	} else if (connection->phase != PHASE_REFUSED &&
		   evbuffer_get_length(input) > EARLY_BYTES_MAX) {
		connection_doom(connection);
	}
}

/* Called by evhttp for each connection that it accepts. */
static struct bufferevent *make_bufferevent(struct event_base *base, void *argument)
{
	struct connections *connections = argument;
	struct connection *connection = memory_get_zeroed(1, sizeof(*connection));

	connection->connections = connections;
	connection->bufferevent = bufferevent_socket_new(base, -1, 0);
	if (!connection->bufferevent ||
	    !evbuffer_add_cb(bufferevent_get_input(connection->bufferevent), on_input, connection))
		give_up("memory for a connection");
	set_phase(connection, PHASE_NEW);
	connection->next = connections->first;
	connections->first = connection;
	if (++connections->count >= HTTP_CONNECTIONS_MAX)
		(void)evconnlistener_disable(connections->listener);
	look_soon(connections);
	return connection->bufferevent;
}

/* Who may connect to a socket file is a matter of its mode; this holds whatever that is. */
static bool is_peer_us(int fd)
{
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == getuid();
}

static void greet(struct connection *connection)
{
	const int fd = bufferevent_getfd(connection->bufferevent);
	const int yes = 1;
	void *evcon = NULL;

	bufferevent_getcb(connection->bufferevent, NULL, NULL, NULL, &evcon);
	if (!evcon)
		bug("evhttp's connection is not where it is looked for");
	connection->evcon = evcon;
	connection->phase = PHASE_READING;
	evhttp_connection_set_closecb(evcon, on_close, connection);
	if (!connection->connections->is_unix) /* events are small; it may fail */
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	else if (!is_peer_us(fd))
		refuse(connection, TROUBLE_PEER, "403 Forbidden",
		       "This socket belongs to another user");
}

/* New connections have their evhttp_connection now, and nobody is in the middle of using one. */
static void on_deferred(evutil_socket_t fd, short what, void *argument)
{
	struct connections *connections = argument;
	struct connection *connection = connections->first;
	bool again = false;

	(void)fd;
	(void)what;
	while (connection) {
		struct connection *next = connection->next;

		if (connection->phase == PHASE_NEW)
			greet(connection);
		if (connection->phase == PHASE_READING && connection->taken > 0 &&
		    !connection->is_checked)
			check_request(connection);
		if (connection->is_doomed) {
			evhttp_connection_free(connection->evcon);
			again = true; /* that may have ended others */
			break;
		}
		connection = next;
	}
	if (again)
		look_soon(connections);
	else if (connections->count < HTTP_CONNECTIONS_MAX)
		(void)evconnlistener_enable(connections->listener);
}

/* Most likely no descriptor is left: wait for the next look. */
static void on_accept_error(struct evconnlistener *listener, void *argument)
{
	(void)argument;
	(void)evconnlistener_disable(listener);
}

void connections_init(struct connections *connections, struct event_base *base, int listener,
		      void (*handle)(struct evhttp_request *request, void *context), void *context)
{
	const int every_method = EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD |
				 EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS |
				 EVHTTP_REQ_TRACE | EVHTTP_REQ_CONNECT | EVHTTP_REQ_PATCH;
	int domain = 0;
	socklen_t size = sizeof(domain);

	memset(connections, 0, sizeof(*connections));
	connections->base = base;
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
	evhttp_set_max_body_size(connections->evhttp, (ev_ssize_t)HOPELESS_BYTES);
	evhttp_set_default_content_type(connections->evhttp, NULL);
	evhttp_set_bevcb(connections->evhttp, make_bufferevent, connections);
	evhttp_set_gencb(connections->evhttp, handle, context);
	if (!evhttp_bind_listener(connections->evhttp, connections->listener))
		give_up("memory for the HTTP server");
}

void connections_open(struct connections *connections)
{
	(void)evconnlistener_enable(connections->listener);
}

void connections_done(struct connections *connections)
{
	evhttp_free(connections->evhttp); /* with the listener and the connections */
	event_free(connections->deferred);
}

/* How long the connection may stay as it is; 0: as long as it likes. */
static int64_t patience(const struct connection *connection)
{
	switch (connection->phase) {
	case PHASE_READING:
		return connection->taken > 0 ? REQUEST_MS : IDLE_MS;
	case PHASE_REFUSED:
		return LINGER_MS;
	default:
		return 0;
	}
}

/* What waits must become less in a while. */
static bool is_stuck(struct connection *connection, int64_t now)
{
	const size_t waiting = queued(connection);

	if (connection->phase != PHASE_FLUSHING || waiting == 0 || waiting < connection->queued)
		connection->moved_ms = now;
	connection->queued = waiting;
	return now - connection->moved_ms > STUCK_MS;
}

static void sweep(struct connection *connection, int64_t now)
{
	static const char comment[] = ": keep-alive\n\n";
	const int64_t limit = patience(connection);

	if (limit > 0 && now - connection->since_ms > limit) {
		if (connection->phase == PHASE_READING && connection->taken > 0)
			refuse(connection, TROUBLE_SLOW, "408 Request Timeout",
			       "The request took longer than 30 s to arrive");
		else
			connection_doom(connection);
	} else if (is_stuck(connection, now)) {
		trouble_note(&connection->connections->troubles, TROUBLE_NOT_READING);
		connection_doom(connection);
	} else if (connection->phase == PHASE_STREAMING &&
		   now - connection->said_ms >= KEEP_ALIVE_MS) {
		connection_stream(connection, comment, sizeof(comment) - 1);
	}
}

void connections_sweep(struct connections *connections)
{
	const int64_t now = clock_steady_ms();

	connections->queued = 0;
	for (struct connection *c = connections->first; c; c = c->next) {
		sweep(c, now);
		connections->queued += queued(c);
	}
	look_soon(connections);
}

struct connection *connection_take(struct connections *connections, struct evhttp_request *request)
{
	struct evhttp_connection *evcon = evhttp_request_get_connection(request);
	struct connection *connection = connections->first;

	while (connection && connection->evcon != evcon)
		connection = connection->next;
	if (!connection)
		bug("a request of no connection");
	forget_taken(connection);
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

void connection_set_principal(struct connection *connection, uint32_t principal)
{
	connection->principal = principal;
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

/* The answer is sent: the next request, of which something may have arrived already. */
static void on_complete(struct evhttp_request *request, void *argument)
{
	struct connection *connection = argument;
	const struct evbuffer *input = bufferevent_get_input(connection->bufferevent);

	(void)request;
	set_phase(connection, PHASE_READING);
	connection->is_checked = false;
	connection->taken = evbuffer_get_length(input);
	connection->connections->taken += connection->taken;
	look_soon(connection->connections);
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

/* One answer that is complete may be as long as it is; not all answers together. */
static void refuse_growth(struct connection *connection)
{
	struct connections *connections = connection->connections;

	if ((connection->phase != PHASE_STREAMING || queued(connection) <= QUEUE_BYTES_MAX) &&
	    connections->queued <= QUEUES_BYTES_MAX)
		return;
	trouble_note(&connections->troubles, TROUBLE_NOT_READING);
	connection_doom(connection);
}

static struct evbuffer *copy(const char *bytes, size_t size)
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
	if (body && evhttp_request_get_command(connection->request) != EVHTTP_REQ_HEAD) {
		connection_add_header(connection, "Content-Type", content_type);
		content = copy(body->bytes, body->size);
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
	struct evbuffer *content = copy(bytes, size);

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
	return queued(connection) > QUEUE_HIGH_BYTES;
}

void connection_doom(struct connection *connection)
{
	connection->is_doomed = true;
	look_soon(connection->connections);
}
