/* SPDX-License-Identifier: Apache-2.0
 *
 * The guard before evhttp. Arriving bytes are taken out of evhttp's input and held here. evhttp is
 * given a whole head of the strict form, then its body; the next request follows after the answer
 * is sent. So evhttp cannot read as a request the bytes that another reader takes for the end of
 * the request before.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdlib.h>
#include <string.h>

#include "http/connection_parts.h"
#include "io/clock.h"
#include "lib/heap/memory.h"

/* Bytes that a client may send while its last request is being answered. */
#define EARLY_BYTES_MAX ((size_t)64 << 10)

/* The body of a request without a known token: large enough to be answered like any other. */
#define UNKNOWN_BODY_BYTES_MAX ((size_t)64 << 10)

FAULT(bad_chunk_end, TROUBLE_NOT_HTTP, "400 Bad Request",
      "A chunk must end with CR LF, without a trailer");
static const struct fault unknown_body = { TROUBLE_TOKEN, "401 Unauthorized",
					   "A token is needed: Authorization: Bearer ...",
					   "WWW-Authenticate: Bearer realm=\"msp\"\r\n" };

/* Take the last `size` bytes, which evhttp has not read, out of its input. */
static void hold_input(struct connection *connection, struct evbuffer *input, size_t size)
{
	const size_t passed = evbuffer_get_length(input) - size;
	struct evbuffer *before = evbuffer_new();
	struct buffer *held = &connection->held;
	char *bytes = memory_get(size);

	connection->is_passing = true;
	if (!before || evbuffer_remove_buffer(input, before, passed) != (int)passed ||
	    evbuffer_remove(input, bytes, size) != (int)size ||
	    evbuffer_add_buffer(input, before) != 0)
		give_up("memory for a request");
	connection->is_passing = false;
	evbuffer_free(before);
	buffer_append(held, bytes, size);
	free(bytes);
}

/* Give evhttp the first `size` held bytes. A bufferevent's input is frozen unless the flag allows
 * adding. */
static void pass_input(struct connection *connection, size_t size)
{
	struct evbuffer *input = bufferevent_get_input(connection->bufferevent);

	connection->is_passing = true;
	(void)evbuffer_unfreeze(input, 0);
	if (evbuffer_add(input, connection->held.bytes, size) != 0)
		give_up("memory for a request");
	(void)evbuffer_freeze(input, 0);
	connection->is_passing = false;
	buffer_drop(&connection->held, size);
	if (connection->held.size == 0)
		buffer_done(&connection->held);
}

/* Count `size` more announced bytes of a body. */
static const struct fault *announce_body(struct connection *connection, size_t size)
{
	connection->left = size;
	if (size > HTTP_BODY_BYTES_MAX - connection->body)
		return connection->is_known ? &fault_too_large : &unknown_body;
	connection->body += size;
	if (!connection->is_known && connection->body > UNKNOWN_BODY_BYTES_MAX)
		return &unknown_body;
	return NULL;
}

/* Find the principal of the request. */
static const struct fault *identify_client(struct connection *connection, const char *authorization)
{
	const struct connections *connections = connection->connections;
	const bool was_known = connection->is_known;
	const uint32_t principal = connection->principal;
	const struct fault *fault = NULL;

	connection->is_known = connections->rules->identify(connections->context, authorization,
							    &connection->principal);
	if (connection->is_known && !(was_known && connection->principal == principal))
		fault = room_for_known(connection);
	if (fault)
		connection->is_known = false;
	if (was_known && !connection->is_known)
		connection->unknown_ms = clock_steady_ms();
	return fault;
}

static const struct fault *take_head(struct connection *connection, size_t *ret_pass)
{
	const struct buffer *held = &connection->held;
	const char *end = memmem(held->bytes, held->size, "\r\n\r\n", 4);
	const size_t size = end ? (size_t)(end + 4 - held->bytes) : held->size;
	const struct fault *fault = head_check_start(held->bytes, size, connection->seen);
	struct head head;
	char *text;

	connection->seen = held->size;
	if (fault || !end)
		return fault;
	text = memory_text(held->bytes, size);
	fault = head_read(text, size, &head);
	if (!fault)
		fault = identify_client(connection, head.authorization);
	free(text);
	connection->body = 0;
	if (!fault)
		fault = announce_body(connection, head.length);
	connection->intake = head.is_chunked   ? INTAKE_CHUNK_LINE
			     : head.length > 0 ? INTAKE_BODY
					       : INTAKE_WHOLE;
	*ret_pass = size;
	return fault;
}

static const struct fault *take_chunk_line(struct connection *connection, size_t *ret_pass)
{
	const struct buffer *held = &connection->held;
	const size_t most = held->size < HTTP_CHUNK_LINE_MAX ? held->size : HTTP_CHUNK_LINE_MAX;
	const char *end = memchr(held->bytes, '\r', most);
	const size_t digits = end ? (size_t)(end - held->bytes) : most;
	const struct fault *fault;
	size_t size;

	fault = head_read_chunk_size(held->bytes, digits, &size);
	if (fault || !end || digits + 1 == held->size)
		return fault;
	if (end[1] != '\n')
		return &bad_chunk_end;
	*ret_pass = digits + 2;
	connection->intake = size > 0 ? INTAKE_CHUNK : INTAKE_LAST_END;
	return announce_body(connection, size);
}

static const struct fault *take_chunk_end(struct connection *connection, size_t *ret_pass)
{
	const struct buffer *held = &connection->held;

	if (held->bytes[0] != '\r' || (held->size > 1 && held->bytes[1] != '\n'))
		return &bad_chunk_end;
	if (held->size == 1)
		return NULL;
	*ret_pass = 2;
	connection->intake =
		connection->intake == INTAKE_LAST_END ? INTAKE_WHOLE : INTAKE_CHUNK_LINE;
	return NULL;
}

/* Count `size` announced bytes that have arrived. */
static void take_body(struct connection *connection, size_t size)
{
	connection->left -= size;
	if (connection->left == 0)
		connection->intake =
			connection->intake == INTAKE_CHUNK ? INTAKE_CHUNK_END : INTAKE_WHOLE;
}

/* Read the held bytes; *ret_pass: how many of them evhttp may have now. */
static const struct fault *take_held(struct connection *connection, size_t *ret_pass)
{
	switch (connection->intake) {
	case INTAKE_HEAD:
		return take_head(connection, ret_pass);
	case INTAKE_CHUNK_LINE:
		return take_chunk_line(connection, ret_pass);
	case INTAKE_CHUNK_END:
	case INTAKE_LAST_END:
		return take_chunk_end(connection, ret_pass);
	case INTAKE_BODY:
	case INTAKE_CHUNK:
		*ret_pass = connection->held.size < connection->left ? connection->held.size
								     : connection->left;
		take_body(connection, *ret_pass);
		return NULL;
	case INTAKE_WHOLE:
		return NULL;
	}
	bug("a part of a request that there is not");
}

bool connection_continue(struct connection *connection)
{
	const struct fault *fault = NULL;
	size_t size = 1;
	bool has_passed = false;

	while (size > 0 && connection->held.size > 0) {
		size = 0;
		fault = take_held(connection, &size);
		if (fault) {
			connection_refuse(connection, fault);
			return false;
		}
		if (size > 0)
			pass_input(connection, size);
		has_passed |= size > 0;
	}
	return has_passed;
}

/* Take a piece of the request that is being read. */
static void take_piece(struct connection *connection, struct evbuffer *input, size_t size)
{
	const struct fault *fault;

	if (connection->taken == 0)
		connection->since_ms = clock_steady_ms();
	connection->taken += size;
	connection->connections->taken += size;
	fault = room_for_bytes(connection);
	if (fault) {
		connection_refuse(connection, fault);
	} else if (connection->held.size == 0 && size <= connection->left &&
		   (connection->intake == INTAKE_BODY || connection->intake == INTAKE_CHUNK)) {
		take_body(connection,
			  size); /* no need to hold these bytes: they stay in evhttp's input */
	} else {
		hold_input(connection, input, size);
		(void)connection_continue(connection);
	}
}

void connection_on_input(struct evbuffer *input, const struct evbuffer_cb_info *info,
			 void *argument)
{
	struct connection *connection = argument;

	if (info->n_added == 0 || connection->is_passing || connection->phase == PHASE_REFUSED)
		return;
	if (connection->phase == PHASE_READING && connection->intake != INTAKE_WHOLE) {
		take_piece(connection, input, info->n_added);
		return;
	}
	hold_input(connection, input, info->n_added);
	if (connection->held.size > EARLY_BYTES_MAX)
		connection_doom(connection);
}
