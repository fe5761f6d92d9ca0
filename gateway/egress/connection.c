/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/egress/connection.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

_Static_assert(HELLO_BYTES_MAX + 5 * 64 <= RELAY_BYTES, "a hello is kept with its records' heads");

static const enum connection_refusal refusals[HELLO_VERDICT_COUNT] = {
	[HELLO_NAMELESS] = CONNECTION_NO_NAME,      [HELLO_OTHER] = CONNECTION_NO_TLS,
	[HELLO_MALFORMED] = CONNECTION_NO_TLS,      [HELLO_LONG] = CONNECTION_NO_TLS,
	[HELLO_ENCRYPTED] = CONNECTION_HIDDEN_NAME, [HELLO_OTHER_NAME] = CONNECTION_OTHER_NAME,
};

void connection_begin(struct connection *connection, int client, int host, bool is_tls,
		      const char *name)
{
	connection->state = is_tls ? CONNECTION_GREETING : CONNECTION_RELAYING;
	connection->refusal = CONNECTION_FINE;
	connection->client = client;
	connection->host = host;
	memcpy(connection->name, name, strlen(name) + 1);
	opening_begin(&connection->opening);
	if (!is_tls)
		connection->opening.phase = OPENING_OVER;
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

/* Read bytes, which are held. */
static void read_held(struct relay *relay, int source, size_t most)
{
	relay->held += (uint32_t)relay_read(relay, source, most);
}

static const uint8_t *held_bytes(const struct relay *relay)
{
	return relay->bytes + (relay->end - relay->held);
}

/* Let go of the client's bytes that may reach the host, or refuse the connection. */
static void judge_client(struct connection *connection)
{
	struct relay *out = &connection->out;
	const enum opening_phase phase = connection->opening.phase;
	enum hello_verdict verdict = HELLO_PART;

	if (out->held > 0)
		out->held -= (uint32_t)opening_pass_client(&connection->opening, held_bytes(out),
							   out->held, connection->name, &verdict);
	if (verdict != HELLO_PART)
		refuse_connection(connection, refusals[verdict]);
	else if (phase == connection->opening.phase && phase != OPENING_ANSWER &&
		 phase != OPENING_MUTE &&
		 (out->held == RELAY_BYTES || /* tiny records */
		  (out->state != RELAY_OPEN && (out->held > 0 || phase == OPENING_GREETING))))
		refuse_connection(connection, CONNECTION_NO_TLS);
}

/* Let go of the host's bytes. Those of a host that ends come to nothing more, and without its hello
 * nothing that waits for it does. */
static void judge_host(struct connection *connection)
{
	struct relay *in = &connection->in, *out = &connection->out;
	struct opening *opening = &connection->opening;

	if (in->held > 0)
		in->held -= (uint32_t)opening_pass_host(opening, held_bytes(in), in->held);
	if (in->state == RELAY_OPEN)
		return;
	in->held = 0;
	if (opening->phase == OPENING_KEYS || opening->phase == OPENING_OVER)
		return;
	opening->phase = OPENING_MUTE;
	out->end -= out->held;
	out->held = 0;
}

/* Read the opening, and let go of what is judged. */
static void turn_opening(struct connection *connection, enum connection_side side, size_t most)
{
	enum opening_phase before;

	if (side & CONNECTION_CLIENT)
		read_held(&connection->out, connection->client, most);
	if (side & CONNECTION_HOST && connection->state == CONNECTION_RELAYING)
		read_held(&connection->in, connection->host, most);
	do {
		before = connection->opening.phase;
		judge_client(connection);
		judge_host(connection);
	} while (connection->state != CONNECTION_ENDED && before != connection->opening.phase);
	if (connection->state == CONNECTION_GREETING && before != OPENING_GREETING)
		connection->state = CONNECTION_RELAYING;
}

void connection_turn(struct connection *connection, enum connection_side side, size_t most)
{
	struct relay *out = &connection->out, *in = &connection->in;

	if (connection->state != CONNECTION_ENDED && connection->opening.phase != OPENING_OVER) {
		turn_opening(connection, side, most);
		side = CONNECTION_CLIENT | CONNECTION_HOST; /* released bytes go now */
		most = 0;
	}
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
