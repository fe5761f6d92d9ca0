/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/http/exchange.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <string.h>

#include "gateway/http/trust.h"

#define FLOW_MAX 131072U /* bytes for a side that wait, beyond which the other is not read */
#define MOVES_MAX 16     /* in a turn, so that no connection holds up the others */
#define LAST_CHUNK "0\r\n\r\n"

bool exchange_begin(struct exchange *exchange, const struct target *target, int client, int host,
		    uint64_t now_ms)
{
	SSL *accepted = NULL, *connected = NULL;

	memset(exchange, 0, offsetof(struct exchange, redact));
	redact_begin(&exchange->redact);
	exchange->from_client.start = exchange->from_client.end = 0;
	exchange->from_host.start = exchange->from_host.end = 0;
	exchange->target = *target;
	exchange->redacts = secrets_are_for(target->index);
	exchange->most = UINT64_MAX;
	exchange->begun_ms = exchange->moved_ms = exchange->now_ms = now_ms;
	if (target_is_tls(target)) {
		accepted = trust_accept(client, exchange->target.name);
		connected = trust_connect(host, exchange->target.name);
	}
	side_begin(&exchange->client, client, accepted);
	side_begin(&exchange->host, host, connected);
	return !target_is_tls(target) || (accepted != NULL && connected != NULL);
}

/* --- ends ------------------------------------------------------------------------------------- */

/* End at once. The workload sees a reset where it could take a part for the whole. */
static void cut_connection(struct exchange *exchange, enum connection_end reason)
{
	exchange->is_cut = true;
	exchange->reason = reason;
	exchange->end = EXCHANGE_ENDED;
}

/* End when the workload has what it is to get. */
static void finish_connection(struct exchange *exchange, enum connection_end reason)
{
	exchange->reason = reason;
	exchange->end = EXCHANGE_FINISHING;
	exchange->finish_ms = exchange->now_ms;
	exchange->has_moved = true;
}

/* Answer in the host's place, unless its answer has begun. */
static void answer_self(struct exchange *exchange, uint32_t status, const char *text,
			enum connection_end reason)
{
	if (exchange->answer == EXCHANGE_ANSWER_BODY) {
		cut_connection(exchange, reason);
		return;
	}
	message_write_own(status, text, !exchange->is_of_head, &exchange->to_client);
	finish_connection(exchange, reason);
}

static void refuse_request(struct exchange *exchange, const struct refusal *refusal)
{
	event_exchange_refused(exchange, refusal->reason);
	answer_self(exchange, refusal->status, refusal->text, CONNECTION_END_REQUEST);
}

static void refuse_fault(struct exchange *exchange, enum head_fault fault)
{
	struct refusal refusal;

	message_refuse_fault(&exchange->target, fault, &refusal);
	refuse_request(exchange, &refusal);
}

/* --- input and output ------------------------------------------------------------------------- */

static bool has_room(const struct inflow *input)
{
	return input->end - input->start < sizeof(input->bytes);
}

static void fill_input(struct exchange *exchange, struct side *side, struct inflow *input)
{
	size_t got;

	if (input->start > 0 && input->end == sizeof(input->bytes)) {
		memmove(input->bytes, input->bytes + input->start, input->end - input->start);
		input->end -= input->start;
		input->start = 0;
	}
	got = side_read(side, input->bytes + input->end, sizeof(input->bytes) - input->end);
	input->end += got;
	exchange->has_moved |= got > 0;
}

static void take_input(struct inflow *input, size_t size)
{
	input->start += size;
	if (input->start == input->end)
		input->start = input->end = 0;
}

/* Write what waits for a side. */
static void flush_side(struct exchange *exchange, struct side *side, struct buffer *flow)
{
	size_t at = 0, put = 1;

	while (put > 0 && at < flow->size) {
		put = side_write(side, flow->bytes + at, flow->size - at);
		at += put;
	}
	if (at == 0)
		return;
	exchange->has_moved = true;
	/* A request's head may have a secret; an answer has none. */
	if (flow == &exchange->to_host)
		OPENSSL_cleanse(flow->bytes, at);
	buffer_drop(flow, at);
}

static void append_data(struct buffer *flow, bool is_chunked, struct slice data)
{
	if (data.size == 0)
		return;
	if (is_chunked)
		buffer_format(flow, "%zx\r\n", data.size);
	buffer_append(flow, data.bytes, data.size);
	if (is_chunked)
		buffer_append_text(flow, "\r\n");
}

/* --- handshakes ------------------------------------------------------------------------------- */

static void greet_client(struct exchange *exchange)
{
	static const enum connection_end ends[] = {
		[TRUST_SILENT] = CONNECTION_END_NO_TLS,
		[TRUST_NAMED] = CONNECTION_END_SIDES,
		[TRUST_NAMELESS] = CONNECTION_END_NO_NAME,
		[TRUST_OTHER_NAME] = CONNECTION_END_OTHER_NAME,
	};
	enum trust_greeting greeting;

	if (!side_greet(&exchange->client))
		return;
	exchange->has_moved = true;
	if (exchange->client.state == SIDE_OPEN)
		return;
	greeting = trust_greeting(exchange->client.ssl);
	if (greeting != TRUST_NAMED)
		event_exchange_refused(exchange, CONNECTION_REFUSED_TLS);
	cut_connection(exchange, ends[greeting]);
	exchange->is_cut = false; /* the alert of TLS is to arrive */
}

/* A host that is not the right one is told to the workload with its first request. */
static void greet_host(struct exchange *exchange)
{
	long verdict;

	if (!side_greet(&exchange->host))
		return;
	exchange->has_moved = true;
	if (exchange->host.state == SIDE_OPEN)
		return;
	verdict = SSL_get_verify_result(exchange->host.ssl);
	exchange->host_trouble = verdict != X509_V_OK ? X509_verify_cert_error_string(verdict)
						      : ERR_reason_error_string(ERR_peek_error());
	if (exchange->host_trouble == NULL)
		exchange->host_trouble = "it has closed the connection";
}

static void answer_trouble(struct exchange *exchange)
{
	char text[REFUSAL_TEXT_MAX];

	(void)snprintf(text, sizeof(text),
		       "failed: no TLS with the host %s: %s\n"
		       "rule: a host has a certificate of its name from an authority that this "
		       "machine trusts, and speaks TLS 1.2 or later\n",
		       exchange->target.name, exchange->host_trouble);
	answer_self(exchange, 502, text, CONNECTION_END_CERTIFICATE);
}

/* --- requests --------------------------------------------------------------------------------- */

static void take_request_head(struct exchange *exchange)
{
	static struct head head;
	struct inflow *input = &exchange->from_client;
	const char *bytes = input->bytes + input->start;
	enum head_fault fault = HEAD_SOUND;
	struct refusal refusal;
	const size_t size =
		head_find_end(bytes, input->end - input->start, &exchange->request_at, &fault);

	if (exchange->head_ms == 0 && input->end > input->start)
		exchange->head_ms = exchange->now_ms;
	if (size > 0)
		fault = head_read_request(bytes, size, &head);
	if (fault != HEAD_SOUND) {
		exchange->is_of_head = false;
		refuse_fault(exchange, fault);
		return;
	}
	if (size == 0)
		return;
	exchange->is_of_head = slice_is(head.method, "HEAD");
	exchange->is_last = head.is_last;
	if (!message_write_request(&exchange->target, &head, &exchange->to_host, &refusal)) {
		refuse_request(exchange, &refusal);
		return;
	}
	take_input(input, size);
	body_begin(&exchange->request_body, &head);
	form_begin(&exchange->form, &head, target_has_rules(&exchange->target));
	exchange->is_request_chunked = head.framing == HEAD_CHUNKED;
	exchange->request = EXCHANGE_REQUEST_BODY;
	exchange->answer = EXCHANGE_ANSWER_HEAD;
	exchange->request_at = 0;
	exchange->head_ms = 0;
	exchange->has_moved = true;
}

static void take_request_body(struct exchange *exchange)
{
	struct inflow *input = &exchange->from_client;
	struct refusal refusal;
	struct slice data;
	size_t size;

	do {
		size = body_take(&exchange->request_body, input->bytes + input->start,
				 input->end - input->start, &data);
		if (form_overrides(&exchange->form, data)) {
			message_refuse_override(&exchange->target, &refusal);
			refuse_request(exchange, &refusal);
			return;
		}
		append_data(&exchange->to_host, exchange->is_request_chunked, data);
		take_input(input, size);
	} while (size > 0 && exchange->to_host.size < FLOW_MAX);
	if (exchange->request_body.state == BODY_BROKEN) {
		refuse_fault(exchange, HEAD_BAD_CHUNK);
	} else if (exchange->request_body.state == BODY_DONE) {
		if (exchange->is_request_chunked)
			buffer_append_text(&exchange->to_host, LAST_CHUNK);
		exchange->request = EXCHANGE_REQUEST_SENT;
		exchange->has_moved = true;
	}
}

static bool wants_request(const struct exchange *exchange)
{
	return exchange->request != EXCHANGE_REQUEST_SENT && has_room(&exchange->from_client) &&
	       exchange->to_host.size < FLOW_MAX;
}

/* Take the end of what the workload sends. One that has half closed still gets its answer. */
static void end_request(struct exchange *exchange)
{
	const bool has_bytes = exchange->from_client.end > exchange->from_client.start;

	if (exchange->client.state == SIDE_FAILED || exchange->request == EXCHANGE_REQUEST_BODY)
		cut_connection(exchange, CONNECTION_END_SIDES);
	else if (exchange->request == EXCHANGE_REQUEST_HEAD && !has_bytes)
		finish_connection(exchange, CONNECTION_END_SIDES);
	else if (exchange->request == EXCHANGE_REQUEST_HEAD &&
		 exchange->host.state != SIDE_GREETING)
		cut_connection(exchange, CONNECTION_END_REQUEST); /* a part of a head */
}

static void take_request(struct exchange *exchange)
{
	if (exchange->client.state == SIDE_GREETING)
		return;
	if (wants_request(exchange))
		fill_input(exchange, &exchange->client, &exchange->from_client);
	/* The host's handshake comes first: without it there is nobody to ask. */
	if (exchange->request == EXCHANGE_REQUEST_HEAD && exchange->host.state != SIDE_GREETING &&
	    exchange->from_client.end > exchange->from_client.start) {
		if (exchange->host_trouble != NULL)
			answer_trouble(exchange);
		else
			take_request_head(exchange);
	}
	if (exchange->request == EXCHANGE_REQUEST_BODY && exchange->end == EXCHANGE_GOES_ON)
		take_request_body(exchange);
	if (exchange->end != EXCHANGE_GOES_ON || exchange->client.state == SIDE_OPEN)
		return;
	end_request(exchange);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void fail_answer(struct exchange *exchange, const char *rule)
{
	char text[REFUSAL_TEXT_MAX];

	(void)snprintf(text, sizeof(text),
		       "failed: the answer of %s cannot be passed on\nrule: %s\n",
		       exchange->target.name, rule);
	answer_self(exchange, 502, text, CONNECTION_END_ANSWER);
}

static void take_answer_head(struct exchange *exchange)
{
	static struct head head;
	struct inflow *input = &exchange->from_host;
	const char *bytes = input->bytes + input->start;
	enum head_fault fault = HEAD_SOUND;
	const size_t size =
		head_find_end(bytes, input->end - input->start, &exchange->answer_at, &fault);

	if (size > 0)
		fault = head_read_answer(bytes, size, exchange->is_of_head, &head);
	if (fault != HEAD_SOUND) {
		fail_answer(exchange, head_fault_rule(fault));
		return;
	}
	if (size == 0)
		return;
	if (exchange->redacts && head.framing != HEAD_NO_BODY && message_is_coded(&head)) {
		fail_answer(exchange,
			    "a host with a secret answers uncompressed, as it is asked to");
		return;
	}
	exchange->is_last |= head.is_last && head.status >= 200;
	head.is_last = exchange->is_last && head.status >= 200;
	message_write_answer(&head, exchange->redacts ? &exchange->redact : NULL,
			     &exchange->to_client);
	take_input(input, size);
	exchange->answer_at = 0;
	exchange->has_moved = true;
	if (head.status < 200) /* another head follows */
		return;
	body_begin(&exchange->answer_body, &head);
	exchange->is_answer_chunked =
		head.framing == HEAD_CHUNKED || head.framing == HEAD_UNTIL_CLOSE;
	exchange->answer = EXCHANGE_ANSWER_BODY;
}

/* Pass data on, without secrets where there are some. */
static void pass_data(struct exchange *exchange, struct slice data, bool is_end)
{
	struct buffer clean = { .bytes = NULL };

	if (!exchange->redacts) {
		append_data(&exchange->to_client, exchange->is_answer_chunked, data);
		return;
	}
	redact_take(&exchange->redact, data, &clean);
	if (is_end)
		redact_end(&exchange->redact, &clean);
	append_data(&exchange->to_client, exchange->is_answer_chunked,
		    (struct slice){ clean.bytes, clean.size });
	buffer_done(&clean);
}

/* End where the host's answer has no end. The workload gets its bytes, and no last chunk. */
static void break_off(struct exchange *exchange, enum connection_end reason)
{
	pass_data(exchange, (struct slice){ "", 0 }, true);
	finish_connection(exchange, reason);
	exchange->is_partial = true;
}

static void end_answer(struct exchange *exchange)
{
	pass_data(exchange, (struct slice){ "", 0 }, true);
	if (exchange->is_answer_chunked)
		buffer_append_text(&exchange->to_client, LAST_CHUNK);
	exchange->has_moved = true;
	/* More bytes are an answer that nobody asked for. */
	if (exchange->is_last || exchange->request != EXCHANGE_REQUEST_SENT ||
	    exchange->from_host.end > exchange->from_host.start) {
		finish_connection(exchange, CONNECTION_END_SIDES);
		return;
	}
	exchange->request = EXCHANGE_REQUEST_HEAD;
	exchange->answer = EXCHANGE_ANSWER_NONE;
}

static void take_answer_body(struct exchange *exchange)
{
	struct inflow *input = &exchange->from_host;
	struct slice data;
	size_t size;

	do {
		size = body_take(&exchange->answer_body, input->bytes + input->start,
				 input->end - input->start, &data);
		pass_data(exchange, data, false);
		take_input(input, size);
	} while (size > 0 && exchange->to_client.size < FLOW_MAX);
	if (exchange->host.state == SIDE_ENDED && input->end == input->start)
		(void)body_end(&exchange->answer_body); /* the state says it */
	if (exchange->answer_body.state == BODY_BROKEN)
		break_off(exchange, CONNECTION_END_ANSWER);
	else if (exchange->answer_body.state == BODY_DONE)
		end_answer(exchange);
}

static bool wants_answer(const struct exchange *exchange)
{
	return has_room(&exchange->from_host) && exchange->to_client.size < FLOW_MAX;
}

static void take_answer(struct exchange *exchange)
{
	const bool is_asked = exchange->answer != EXCHANGE_ANSWER_NONE;
	size_t left;

	if (exchange->host.state == SIDE_GREETING || exchange->host_trouble != NULL)
		return;
	if (wants_answer(exchange))
		fill_input(exchange, &exchange->host, &exchange->from_host);
	if (!is_asked && exchange->from_host.end > exchange->from_host.start) {
		finish_connection(exchange, CONNECTION_END_ANSWER);
		return;
	}
	if (exchange->answer == EXCHANGE_ANSWER_HEAD)
		take_answer_head(exchange);
	if (exchange->answer == EXCHANGE_ANSWER_BODY && exchange->end == EXCHANGE_GOES_ON)
		take_answer_body(exchange);
	if (exchange->end != EXCHANGE_GOES_ON || exchange->host.state == SIDE_OPEN)
		return;
	left = exchange->from_host.end - exchange->from_host.start;
	if (exchange->answer == EXCHANGE_ANSWER_NONE)
		finish_connection(exchange, CONNECTION_END_SIDES);
	else if (exchange->answer == EXCHANGE_ANSWER_HEAD && left == exchange->answer_at)
		cut_connection(exchange, CONNECTION_END_SIDES); /* no head, or a part of one */
	else if (exchange->answer == EXCHANGE_ANSWER_BODY && left == 0)
		break_off(exchange, CONNECTION_END_PARTIAL);
}

/* --- turns ------------------------------------------------------------------------------------ */

/* Have the workload see the end after the last bytes. What it still sends is read, since a close
 * with bytes that were not read would reset the connection. */
static void finish_client(struct exchange *exchange)
{
	if (exchange->client.state == SIDE_FAILED) {
		exchange->end = EXCHANGE_ENDED;
		return;
	}
	if (exchange->to_client.size > 0)
		return;
	if (!exchange->client.is_written_out) {
		side_finish(&exchange->client, !exchange->is_partial);
		exchange->finish_ms = exchange->now_ms;
	}
	exchange->from_client.start = exchange->from_client.end = 0;
	fill_input(exchange, &exchange->client, &exchange->from_client);
	if (exchange->client.state != SIDE_OPEN)
		exchange->end = EXCHANGE_ENDED;
}

static void move_bytes(struct exchange *exchange)
{
	exchange->has_moved = false;
	if (exchange->end == EXCHANGE_GOES_ON)
		greet_client(exchange);
	if (exchange->end == EXCHANGE_GOES_ON)
		greet_host(exchange);
	if (exchange->end == EXCHANGE_GOES_ON)
		take_request(exchange);
	if (exchange->end == EXCHANGE_GOES_ON)
		flush_side(exchange, &exchange->host, &exchange->to_host);
	if (exchange->end == EXCHANGE_GOES_ON)
		take_answer(exchange);
	if (exchange->end != EXCHANGE_ENDED)
		flush_side(exchange, &exchange->client, &exchange->to_client);
	if (exchange->end == EXCHANGE_FINISHING)
		finish_client(exchange);
}

bool exchange_is_held(const struct exchange *exchange)
{
	return exchange->host.sent + exchange->client.sent >= exchange->most;
}

void exchange_turn(struct exchange *exchange, uint64_t now_ms)
{
	exchange->now_ms = now_ms;
	exchange->has_moved = true;
	for (int i = 0; i < MOVES_MAX && exchange->has_moved; i++) {
		if (exchange->end == EXCHANGE_ENDED || exchange_is_held(exchange))
			break;
		move_bytes(exchange);
		if (exchange->has_moved)
			exchange->moved_ms = now_ms;
	}
	exchange->is_ready = exchange->has_moved && exchange->end != EXCHANGE_ENDED &&
			     !exchange_is_held(exchange);
}

/* The events of a side that is read or written. */
static short events_of(const struct side *side, bool is_read, bool is_written)
{
	short events = 0;

	if (side->state == SIDE_GREETING)
		return side->reading;
	if (is_read && side->state == SIDE_OPEN)
		events = side->reading;
	if (is_written && side->state != SIDE_FAILED)
		events = (short)(events | side->writing);
	return events;
}

void exchange_wants(const struct exchange *exchange, short *ret_client, short *ret_host)
{
	const bool is_finishing = exchange->end == EXCHANGE_FINISHING;

	*ret_client = *ret_host = 0;
	if (exchange->end == EXCHANGE_ENDED || exchange_is_held(exchange))
		return;
	*ret_client =
		events_of(&exchange->client,
			  is_finishing ? exchange->client.is_written_out : wants_request(exchange),
			  exchange->to_client.size > 0);
	if (!is_finishing)
		*ret_host = events_of(&exchange->host, wants_answer(exchange),
				      exchange->to_host.size > 0);
}

static bool is_late(const struct exchange *exchange, uint64_t since_ms, uint64_t most_ms)
{
	return exchange->now_ms - since_ms > most_ms;
}

static void expire_wait(struct exchange *exchange)
{
	const bool is_idle = exchange->request == EXCHANGE_REQUEST_HEAD;

	if (exchange->idle_ms > 0 && is_late(exchange, exchange->moved_ms, exchange->idle_ms)) {
		cut_connection(exchange, CONNECTION_END_IDLE);
	} else if (exchange->client.state == SIDE_GREETING) {
		if (!is_late(exchange, exchange->begun_ms, EXCHANGE_HELLO_MS))
			return;
		event_exchange_refused(exchange, CONNECTION_REFUSED_TLS);
		cut_connection(exchange, CONNECTION_END_LATE);
	} else if (exchange->host.state == SIDE_GREETING &&
		   is_late(exchange, exchange->begun_ms, EXCHANGE_HOST_MS)) {
		exchange->host.state = SIDE_FAILED;
		exchange->host_trouble = "it does not answer";
		exchange->is_ready = true;
	} else if (exchange->head_ms > 0 &&
		   is_late(exchange, exchange->head_ms, EXCHANGE_HEAD_MS)) {
		answer_self(exchange, 408, "refused: the head of a request takes too long\n",
			    CONNECTION_END_LATE);
		exchange->is_ready = true;
	} else if (is_late(exchange, exchange->moved_ms,
			   is_idle ? EXCHANGE_IDLE_MS : EXCHANGE_STALL_MS)) {
		cut_connection(exchange, is_idle ? CONNECTION_END_SIDES : CONNECTION_END_LATE);
	}
}

void exchange_tick(struct exchange *exchange, uint64_t now_ms)
{
	exchange->now_ms = now_ms;
	if (exchange->end == EXCHANGE_GOES_ON)
		expire_wait(exchange);
	else if (exchange->end == EXCHANGE_FINISHING &&
		 is_late(exchange,
			 exchange->client.is_written_out ? exchange->finish_ms : exchange->moved_ms,
			 exchange->client.is_written_out ? EXCHANGE_LINGER_MS : EXCHANGE_FLUSH_MS))
		exchange->end = EXCHANGE_ENDED;
}

void exchange_end(struct exchange *exchange)
{
	side_end(&exchange->client, exchange->is_cut || exchange->to_client.size > 0);
	/* A host that has a part of a request is not to take it for all. */
	side_end(&exchange->host, exchange->request == EXCHANGE_REQUEST_BODY ||
					  ((exchange->is_cut || exchange->is_partial) &&
					   exchange->answer != EXCHANGE_ANSWER_NONE));
	OPENSSL_cleanse(exchange->to_host.bytes, exchange->to_host.size);
	buffer_done(&exchange->to_host);
	buffer_done(&exchange->to_client);
	OPENSSL_cleanse(&exchange->from_client, sizeof(exchange->from_client));
	OPENSSL_cleanse(&exchange->from_host, sizeof(exchange->from_host));
	if (exchange->redacts)
		redact_clean(&exchange->redact);
	exchange->end = EXCHANGE_ENDED;
}
