/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/bridge/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "gateway/bridge/head.h"
#include "gateway/bridge/network.h"

/* A begun head is complete after this time, an answer is taken, and a client that has no server
 * says something: else it is given up. */
#define HEAD_MS 30000
#define ANSWER_MS 5000
#define LONELY_MS 2000

/* A connection of which one side has ended, and in which nothing moves, is given up. */
#define HALF_MS 120000

/* Bytes of one connection in one turn, so that none holds up the others. */
#define TURN_BYTES ((size_t)4 * RELAY_BYTES)

static const struct answer {
	const char *status, *text;
} answers[HEAD_VERDICTS] = {
	[HEAD_BAD] = { "400 Bad Request",
		       "the request has no single Host, or its head is longer than 64 KiB or "
		       "malformed." },
	[HEAD_HOST] = { "403 Forbidden",
			"the Host of this request is not this bridge. A page of another site may "
			"have tried to reach the sandbox." },
	[HEAD_ORIGIN] = { "403 Forbidden", "the request is of a page of another site (Origin or "
					   "Referer), which must "
					   "not reach the sandbox." },
	[HEAD_SITE] = { "403 Forbidden",
			"the request is of a page of another site (Sec-Fetch-Site), which must not "
			"reach the sandbox. Type the address to open it." },
};
static const struct answer no_server = {
	"502 Bad Gateway",
	"nothing takes connections at this port of the sandbox. Start the server "
	"in it again."
};

static void answer_client(struct connection *connection, const struct bridge *bridge,
			  const struct answer *answer, uint64_t now_ms)
{
	char *to = (char *)relay_room(&connection->out);
	char text[512];
	const int length =
		snprintf(text, sizeof(text), "msp bridge: %s The bridge is http://127.0.0.1:%u/\n",
			 answer->text, bridge->host_port);
	const int size = snprintf(to, to ? RELAY_BYTES : 0,
				  "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
				  "X-Content-Type-Options: nosniff\r\nContent-Length: %d\r\n"
				  "Connection: close\r\n\r\n%s",
				  answer->status, length, text);

	fd_close(&connection->inner);
	connection->is_connecting = false;
	connection->state = CONNECTION_ANSWERED;
	connection->is_answered = true;
	connection->due_ms = now_ms + ANSWER_MS;
	connection->out.state = to ? RELAY_ENDING : RELAY_FAILED;
	connection->out.start = 0;
	connection->out.end = (uint32_t)size;
}

/* There is no server. A browser is told so, if the client is one: it speaks first. */
static void go_without(struct connection *connection, uint64_t now_ms)
{
	if (connection->state == CONNECTION_RELAYED)
		connection->state = CONNECTION_OVER;
	else if (connection->due_ms == UINT64_MAX)
		connection->due_ms = now_ms + LONELY_MS;
}

static void connect_inner(struct connection *connection, const struct bridge *bridge,
			  uint64_t now_ms)
{
	int fd = network_connect(bridge->port, connection->is_second);

	if (fd < 0 && !connection->is_second) {
		connection->is_second = true;
		fd = network_connect(bridge->port, true);
	}
	connection->inner = fd < 0 ? -1 : fd;
	connection->is_connecting = fd >= 0;
	if (fd < 0)
		go_without(connection, now_ms);
}

void connection_begin(struct connection *connection, const struct bridge *bridge, int outer,
		      uint64_t now_ms)
{
	const int on = 1;

	(void)setsockopt(outer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* else it is slower */
	connection->outer = outer;
	connection->due_ms = UINT64_MAX;
	connection->state = bridge->is_raw ? CONNECTION_RELAYED : CONNECTION_JUDGED;
	connection->passing = UINT64_MAX;
	connect_inner(connection, bridge, now_ms);
}

/* The server of a client that has begun to speak waits for the verdict. */
static bool is_held(const struct connection *connection)
{
	return connection->is_connecting ||
	       (connection->state == CONNECTION_JUDGED && connection->in.end > 0);
}

/* A socket that has nothing to do is left out: its reset is seen with its next use. */
static struct pollfd await_events(int fd, bool reads, bool writes)
{
	const short events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));

	return (struct pollfd){ .fd = events ? fd : -1, .events = events };
}

void connection_poll(const struct connection *connection, struct pollfd entries[2])
{
	const struct relay *in = &connection->in, *out = &connection->out;

	/* A head is judged when it is known whether there is a server. */
	entries[0] = await_events(connection->outer,
				  relay_wants_source(in) && !connection->is_connecting &&
					  connection->passing > 0,
				  relay_wants_target(out));
	entries[1] = await_events(
		connection->inner, relay_wants_source(out) && !is_held(connection),
		connection->is_connecting ||
			(connection->state == CONNECTION_RELAYED && relay_wants_target(in)));
}

static void finish_connect(struct connection *connection, const struct bridge *bridge,
			   uint64_t now_ms)
{
	const int error = network_connected(connection->inner);

	if (error == -EINPROGRESS)
		return;
	connection->is_connecting = false;
	if (!error)
		return;
	fd_close(&connection->inner);
	if (connection->is_second) {
		go_without(connection, now_ms);
		return;
	}
	connection->is_second = true;
	connect_inner(connection, bridge, now_ms);
}

/* Judge each request that the kept bytes begin. A client that sends the next one before it has an
 * answer is no browser, and has the requests wait for one another. */
static enum head_verdict judge_kept(struct connection *connection, uint16_t port)
{
	const struct relay *in = &connection->in;
	enum head_verdict verdict = HEAD_FINE;
	uint64_t at = 0, size;

	do {
		static const uint8_t no_bytes[1];

		verdict = head_judge(in->end > 0 ? in->bytes + at : no_bytes, in->end - at,
				     in->state != RELAY_OPEN, port, &size);
		at = size == HEAD_ENDLESS ? size : at + size;
	} while (verdict == HEAD_FINE && at < in->end);
	connection->passing = at == HEAD_ENDLESS ? at : at - in->end;
	return verdict == HEAD_MORE && in->end == RELAY_BYTES ? HEAD_BAD : verdict;
}

static void judge_head(struct connection *connection, const struct bridge *bridge, uint64_t now_ms)
{
	struct relay *in = &connection->in;
	const bool is_first = in->moved == 0;
	enum head_verdict verdict;

	(void)relay_read(in, connection->outer, RELAY_BYTES);
	verdict = judge_kept(connection, bridge->host_port);
	if (verdict == HEAD_MORE) {
		if (in->end > 0 && connection->due_ms == UINT64_MAX)
			connection->due_ms = now_ms + HEAD_MS;
		return;
	}
	/* Behind a request comes another one, or the end. */
	connection->was_refused |=
		verdict >= HEAD_BAD || (verdict == HEAD_OTHER && !is_first && in->end > 0);
	if (connection->was_refused && !is_first)
		connection->state = CONNECTION_OVER; /* a browser asks again, and gets the words */
	else if (connection->was_refused)
		answer_client(connection, bridge, &answers[verdict], now_ms);
	else if (verdict == HEAD_FINE && connection->inner < 0)
		answer_client(connection, bridge, &no_server, now_ms);
	else
		connection->state = CONNECTION_RELAYED;
	if (connection->state == CONNECTION_RELAYED)
		connection->due_ms = UINT64_MAX;
}

/* Pass on what was judged. Behind it the next request is judged. */
static void relay_in(struct connection *connection)
{
	struct relay *in = &connection->in;
	const uint64_t before = in->moved + in->end - in->start;

	relay_move(in, connection->outer, connection->inner,
		   connection->passing < TURN_BYTES ? (size_t)connection->passing : TURN_BYTES);
	if (connection->passing == UINT64_MAX)
		return;
	connection->passing -= in->moved + in->end - in->start - before;
	if (connection->passing > 0 || in->end > 0 || in->state != RELAY_OPEN)
		return;
	connection->state = CONNECTION_JUDGED;
	connection->passing = UINT64_MAX;
}

static bool has_failed(const struct connection *connection)
{
	return connection->in.state == RELAY_FAILED || connection->out.state == RELAY_FAILED;
}

static bool is_half(const struct connection *connection)
{
	return connection->in.state == RELAY_ENDED || connection->out.state == RELAY_ENDED;
}

static void relay_both(struct connection *connection)
{
	if (connection->is_connecting)
		return;
	if (connection->state == CONNECTION_RELAYED)
		relay_in(connection);
	if (!is_held(connection))
		relay_move(&connection->out, connection->inner, connection->outer, TURN_BYTES);
	if (has_failed(connection) ||
	    (connection->in.state == RELAY_ENDED && connection->out.state == RELAY_ENDED))
		connection->state = CONNECTION_OVER;
}

/* Drop what else the client says: a close with unread bytes would reset the answer away. */
static void turn_answered(struct connection *connection)
{
	connection->in.start = connection->in.end = 0;
	(void)relay_read(&connection->in, connection->outer, RELAY_BYTES);
	relay_move(&connection->out, -1, connection->outer, 0);
	if (has_failed(connection) ||
	    (connection->in.state == RELAY_ENDING && connection->out.state == RELAY_ENDED))
		connection->state = CONNECTION_OVER;
}

void connection_turn(struct connection *connection, const struct bridge *bridge,
		     const struct pollfd entries[2], uint64_t now_ms)
{
	if (connection->is_connecting && entries[1].revents)
		finish_connect(connection, bridge, now_ms);
	if (connection->state == CONNECTION_JUDGED && !connection->is_connecting &&
	    entries[0].revents & ~POLLOUT)
		judge_head(connection, bridge, now_ms);
	if (connection->state == CONNECTION_ANSWERED)
		turn_answered(connection);
	else if (connection->inner >= 0)
		relay_both(connection);
	else if (connection->state == CONNECTION_RELAYED)
		connection->state = CONNECTION_OVER; /* it is no HTTP, and there is no server */
	if (connection->state <= CONNECTION_RELAYED && is_half(connection) &&
	    (entries[0].revents || entries[1].revents))
		connection->due_ms = now_ms + HALF_MS;
	if (connection->due_ms <= now_ms)
		connection->state = CONNECTION_OVER;
}

void connection_close(struct connection *connection)
{
	if (connection->in.state != RELAY_ENDED || connection->out.state != RELAY_ENDED) {
		if (connection->out.state != RELAY_ENDED)
			relay_reset(connection->outer);
		if (connection->inner >= 0)
			relay_reset(connection->inner);
	}
	relay_drop(&connection->in);
	relay_drop(&connection->out);
	fd_close(&connection->outer);
	fd_close(&connection->inner);
}
