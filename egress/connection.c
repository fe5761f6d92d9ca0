/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/connection.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

_Static_assert(HELLO_BYTES_MAX + 5 * 64 <= RELAY_BYTES, "a hello is kept with its records' heads");

static const enum connection_refusal refusals[HELLO_VERDICT_COUNT] = {
	[HELLO_NAMELESS] = CONNECTION_NO_NAME,      [HELLO_OTHER] = CONNECTION_NO_TLS,
	[HELLO_MALFORMED] = CONNECTION_NO_TLS,      [HELLO_LONG] = CONNECTION_NO_TLS,
	[HELLO_ENCRYPTED] = CONNECTION_HIDDEN_NAME,
};

void connection_begin(struct connection *connection, int client, int host, bool is_tls,
		      const char *name)
{
	connection->state = is_tls ? CONNECTION_GREETING : CONNECTION_RELAYING;
	connection->refusal = CONNECTION_FINE;
	connection->client = client;
	connection->host = host;
	memcpy(connection->name, name, strlen(name) + 1);
	connection->greeting = (struct hello_scan){ .at = 0 };
	connection->out = connection->in = (struct relay){ .state = RELAY_OPEN };
}

void connection_wants(const struct connection *connection, short *ret_client, short *ret_host)
{
	const bool is_greeting = connection->state == CONNECTION_GREETING;

	*ret_client = *ret_host = 0;
	if (connection->state == CONNECTION_ENDED)
		return;
	if (relay_wants_source(&connection->out))
		*ret_client |= POLLIN;
	if (is_greeting)
		return;
	if (relay_wants_target(&connection->in))
		*ret_client |= POLLOUT;
	if (relay_wants_source(&connection->in))
		*ret_host |= POLLIN;
	if (relay_wants_target(&connection->out))
		*ret_host |= POLLOUT;
}

static void refuse_connection(struct connection *connection, enum connection_refusal refusal)
{
	connection->state = CONNECTION_ENDED;
	connection->refusal = refusal;
}

/* Read more of the first flight. Return whether it can be judged. */
static bool read_greeting(struct connection *connection)
{
	struct relay *out = &connection->out;

	if (relay_read(out, connection->client, SIZE_MAX) > 0)
		return hello_scan(&connection->greeting, out->bytes, out->end) ||
		       out->end == RELAY_BYTES;
	if (connection->out.state != RELAY_OPEN)
		refuse_connection(connection, CONNECTION_NO_TLS);
	return false;
}

static void judge_greeting(struct connection *connection)
{
	const struct relay *out = &connection->out;
	char name[HOST_NAME_MAX_SIZE];
	const enum hello_verdict verdict = hello_read(out->bytes, out->end, name);

	if (verdict == HELLO_NAMED && strcmp(name, connection->name) == 0)
		connection->state = CONNECTION_RELAYING;
	else if (verdict == HELLO_NAMED)
		refuse_connection(connection, CONNECTION_OTHER_NAME);
	else if (verdict != HELLO_PART)
		refuse_connection(connection, refusals[verdict]);
	else if (out->end == RELAY_BYTES) /* tiny records */
		refuse_connection(connection, CONNECTION_NO_TLS);
}

void connection_turn(struct connection *connection, enum connection_side side, size_t most)
{
	struct relay *out = &connection->out, *in = &connection->in;

	if (connection->state == CONNECTION_GREETING && read_greeting(connection))
		judge_greeting(connection);
	if (connection->state != CONNECTION_RELAYING)
		return;
	if (side & CONNECTION_CLIENT || relay_wants_target(out))
		relay_move(out, connection->client, connection->host, most);
	if (side & CONNECTION_HOST || relay_wants_target(in))
		relay_move(in, connection->host, connection->client, most);
	if (out->state == RELAY_FAILED || in->state == RELAY_FAILED ||
	    (out->state == RELAY_ENDED && in->state == RELAY_ENDED))
		connection->state = CONNECTION_ENDED;
}

void connection_expire(struct connection *connection)
{
	if (connection->state == CONNECTION_GREETING)
		refuse_connection(connection, CONNECTION_LATE);
}

void connection_end(struct connection *connection)
{
	const bool is_whole =
		connection->out.state == RELAY_ENDED && connection->in.state == RELAY_ENDED;

	if (!is_whole) {
		relay_reset(connection->client);
		relay_reset(connection->host);
	}
	relay_drop(&connection->out);
	relay_drop(&connection->in);
	(void)close(connection->client); /* the bytes are gone or refused */
	(void)close(connection->host);   /* likewise */
	connection->state = CONNECTION_ENDED;
	connection->client = connection->host = -1;
}
