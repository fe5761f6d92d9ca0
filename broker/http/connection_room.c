/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits on connections. Any process that can connect can stay silent, so connections of
 * unidentified clients have little time and a bound of their own, and the oldest goes first.
 * Connections of identified clients are shared out among principals; an idle one makes room for
 * the next of its principal.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include "executions/share.h"
#include "http/connection_parts.h"
#include "io/clock.h"

#define UNKNOWN_MAX HTTP_UNKNOWN_MAX
#define KNOWN_MAX (HTTP_CONNECTIONS_MAX - HTTP_UNKNOWN_MAX)

/* From the connection to the end of the first request's head with a known token. */
#define UNKNOWN_MS 5000
/* From the first byte of an identified client's request to its last. */
#define REQUEST_MS 30000
/* Time without any request. Clients keep unused connections for less. */
#define IDLE_MS 60000
/* Time to read a refusal, for a client that goes on sending. */
#define LINGER_MS 3000
/* Time in which no waiting byte can be sent. */
#define STUCK_MS 30000
#define KEEP_ALIVE_MS 15000

/* Bytes that may wait: of all arriving requests, of one stream, of all answers. */
#define TAKEN_BYTES_MAX ((size_t)64 << 20)
#define QUEUE_BYTES_MAX ((size_t)4 << 20)
#define QUEUES_BYTES_MAX ((size_t)128 << 20)

FAULT(too_slow, TROUBLE_SLOW, "408 Request Timeout", "The request took longer than 30 s to arrive");
FAULT(unknown_too_slow, TROUBLE_SLOW, "408 Request Timeout",
      "The head of the request, with a known token, took longer than 5 s to arrive");
FAULT(too_many_bytes, TROUBLE_FULL, "503 Service Unavailable",
      "This client's share of 64 MiB for arriving requests "
      "is used; try again when one is answered");
FAULT(too_many_connections, TROUBLE_CONNECTIONS, "503 Service Unavailable",
      "This client's share of the 400 connections is open, none of them idle; close one");

_Static_assert(KNOWN_MAX == 400 && TAKEN_BYTES_MAX == 67108864, "the texts above name them");

static bool is_idle(const struct connection *connection)
{
	return connection->phase == PHASE_READING && connection->taken == 0;
}

static struct connection *older_connection(struct connection *a, struct connection *b)
{
	return !a || b->since_ms <= a->since_ms ? b : a; /* the list begins with the newest */
}

void room_for_unknown(struct connections *connections)
{
	uint32_t count = 0;

	for (struct connection *c = connections->first; c; c = c->next) {
		if (!c->is_known && !c->is_doomed && ++count > UNKNOWN_MAX) {
			trouble_note(&connections->troubles, TROUBLE_CONNECTIONS);
			connection_doom(c);
		}
	}
}

void room_for_descriptor(struct connections *connections)
{
	struct connection *unknown = NULL, *idle = NULL;

	for (struct connection *c = connections->first; c; c = c->next) {
		if (!c->is_known && !c->is_doomed)
			unknown = c;
		else if (is_idle(c) && !c->is_doomed)
			idle = older_connection(idle, c);
	}
	if (unknown || idle)
		connection_doom(unknown ? unknown : idle);
}

const struct fault *room_for_known(const struct connection *connection)
{
	struct connection *own_idle = NULL, *any_idle = NULL, *goes;
	size_t own = 0, all = 0;

	for (struct connection *c = connection->connections->first; c; c = c->next) {
		const bool is_own = c->principal == connection->principal;

		if (c == connection || !c->is_known || c->is_doomed)
			continue;
		all++;
		own += is_own;
		if (is_idle(c) && is_own)
			own_idle = older_connection(own_idle, c);
		if (is_idle(c))
			any_idle = older_connection(any_idle, c);
	}
	if (share_allows(connection->principal, own, all, KNOWN_MAX, 1))
		return NULL;
	goes = own > 0 ? own_idle : any_idle;
	if (!goes)
		return &too_many_connections;
	connection_doom(goes);
	return NULL;
}

/* Return the bytes of a connection that count against a limit. */
static size_t taken_bytes(const struct connection *connection)
{
	return connection->is_known ? connection->taken : 0;
}

/* Return true if the principal of `connection` exceeds its share of a total. `used` may be out of
 * date, but no share can be exceeded while little is used. */
static bool is_exceeded(const struct connection *connection, size_t used, size_t total,
			size_t (*bytes_of)(const struct connection *connection))
{
	size_t own = 0, all = 0;

	if (share_is_plenty(used, total))
		return false;
	for (const struct connection *c = connection->connections->first; c; c = c->next) {
		all += bytes_of(c);
		own += c->principal == connection->principal ? bytes_of(c) : 0;
	}
	return !share_allows(connection->principal, own, all, total, 0);
}

const struct fault *room_for_bytes(const struct connection *connection)
{
	return is_exceeded(connection, connection->connections->taken, TAKEN_BYTES_MAX, taken_bytes)
		       ? &too_many_bytes
		       : NULL;
}

bool room_is_exceeded(const struct connection *connection)
{
	/* a complete answer may have any length; all answers together may not */
	return (connection->phase == PHASE_STREAMING &&
		connection_queued(connection) > QUEUE_BYTES_MAX) ||
	       is_exceeded(connection, connection->connections->queued, QUEUES_BYTES_MAX,
			   connection_queued);
}

/* --- time ----------------------------------------------------------------------------------- */

/* Return true if the bytes that wait have not become fewer for too long. */
static bool is_stuck(struct connection *connection, int64_t now)
{
	const size_t waiting = connection_queued(connection);

	if (connection->phase != PHASE_FLUSHING || waiting == 0 || waiting < connection->queued)
		connection->moved_ms = now;
	connection->queued = waiting;
	return now - connection->moved_ms > STUCK_MS;
}

/* End a connection that has been reading, or idle between requests, for too long. */
static void end_reading(struct connection *connection, const struct fault *fault)
{
	if (connection->taken > 0)
		connection_refuse(connection, fault);
	else
		connection_doom(connection);
}

static bool is_too_slow(const struct connection *connection, int64_t now)
{
	if (connection->phase != PHASE_READING)
		return connection->phase == PHASE_REFUSED && now - connection->since_ms > LINGER_MS;
	if (!connection->is_known)
		return now - connection->unknown_ms > UNKNOWN_MS;
	return now - connection->since_ms > (connection->taken > 0 ? REQUEST_MS : IDLE_MS);
}

static void sweep_connection(struct connection *connection, int64_t now)
{
	static const char comment[] = ": keep-alive\n\n";

	if (is_too_slow(connection, now)) {
		if (connection->phase == PHASE_REFUSED)
			connection_doom(connection);
		else
			end_reading(connection,
				    connection->is_known ? &too_slow : &unknown_too_slow);
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
		sweep_connection(c, now);
		connections->queued += connection_queued(c);
	}
	connections_look_soon(connections);
}
