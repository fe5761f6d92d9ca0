/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection without TLS between a workload and a host of any words: parts of the input go to one
 * side or the other in turn. Properties: what a side gets is bounded by what the other one said;
 * the workload gets no value of a secret; the host gets heads of requests to itself alone, each of
 * which is read again; every connection ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/http/exchange.h"
#include "property.h"
#include "rig.h"

#define KEPT_MAX 1500000U /* for each side, with what msp-http adds */
#define HOURS_MS (3 * EXCHANGE_STALL_MS)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct exchange exchange;
static struct buffer to_workload, to_host, of_workload;
static int workload, host; /* the far ends */
static uint64_t now_ms;

void event_exchange_refused(struct exchange *of, enum connection_refused reason)
{
	must(of == &exchange && reason < CONNECTION_REFUSED_COUNT);
}

static void hear(int fd, struct buffer *ret)
{
	char bytes[4096];
	ssize_t size;

	while ((size = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		buffer_append(ret, bytes, (size_t)size);
}

static void turn(void)
{
	short client, upstream;

	do {
		exchange_turn(&exchange, now_ms);
		hear(workload, &to_workload);
		hear(host, &to_host);
	} while (exchange.is_ready);
	exchange_wants(&exchange, &client, &upstream);
	must(exchange.end != EXCHANGE_ENDED || (client == 0 && upstream == 0));
	must(exchange.to_client.size < KEPT_MAX && exchange.to_host.size < KEPT_MAX);
}

static void say(int fd, const uint8_t *bytes, size_t size)
{
	const ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);

	/* A side that is not read has no room for many small parts. */
	must(sent == (ssize_t)size ||
	     (sent < 0 && (errno == EPIPE || errno == ECONNRESET || errno == EAGAIN)));
	if (fd == workload && sent > 0)
		buffer_append(&of_workload, bytes, (size_t)sent);
	turn();
}

static bool has(const struct buffer *buffer, struct slice text)
{
	return buffer->size > 0 &&
	       memmem(buffer->bytes, buffer->size, text.bytes, text.size) != NULL;
}

/* A placeholder's first letter can complete what stood before it to a needle, which tells nothing.
 */
static void hide_placeholder(struct slice placeholder)
{
	char *at = to_workload.bytes;
	const char *end = at + to_workload.size;

	while (at && (at = memmem(at, (size_t)(end - at), placeholder.bytes, placeholder.size)))
		memset(at, 0, placeholder.size);
}

/* The text of a refusal has what the workload said. */
static void must_have_no_value(void)
{
	const struct needles *needles = secrets_needles();

	for (uint32_t i = 0; i < needles->count; i++)
		/* It is cut to a value's length, which has eight bytes at least. */
		hide_placeholder((struct slice){ needles->rows[i].placeholder.bytes, 8 });
	for (uint32_t i = 0; i < needles->count; i++)
		must(!has(&to_workload, needles->rows[i].text) ||
		     has(&of_workload, needles->rows[i].text));
}

/* Follow the requests that the host got, up to one that is not whole. */
static void must_be_requests(const struct target *target)
{
	static struct head head;
	size_t at = 0, size = 1;

	while (size > 0) {
		enum head_fault fault = HEAD_SOUND;
		struct body body;
		size_t from = 0;

		size = head_find_end(to_host.bytes + at, to_host.size - at, &from, &fault);
		must(fault == HEAD_SOUND);
		if (size == 0)
			break;
		must(head_read_request(to_host.bytes + at, size, &head) == HEAD_SOUND);
		must(target_is_named(target, head.host.bytes, head.host.size));
		at += size;
		body_begin(&body, &head);
		while (size > 0 && body.state < BODY_DONE) {
			struct slice some;

			size = body_take(&body, to_host.bytes + at, to_host.size - at, &some);
			at += size;
		}
		must(body.state != BODY_BROKEN);
		size = body.state == BODY_DONE;
	}
}

static void begin(const struct target *target)
{
	int client[2], upstream[2];

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, client) == 0);
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, upstream) == 0);
	workload = client[0];
	host = upstream[0];
	to_workload.size = to_host.size = of_workload.size = 0;
	must(exchange_begin(&exchange, target, client[1], upstream[1], now_ms));
	turn();
}

static void end(void)
{
	must(shutdown(workload, SHUT_WR) == 0 || errno == ENOTCONN);
	turn();
	now_ms += HOURS_MS;
	for (int i = 0; i < 3 && exchange.end != EXCHANGE_ENDED; i++) {
		exchange_tick(&exchange, now_ms);
		turn();
		now_ms += HOURS_MS;
	}
	must(exchange.end == EXCHANGE_ENDED);
	exchange_end(&exchange);
	must(close(workload) == 0 && close(host) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rig rig;
	static bool is_made;
	struct input input = { data, size };

	if (!is_made)
		rig_make(&rig);
	is_made = true;
	begin(&rig.plain);
	while (input.size > 0) {
		const uint8_t what = input_byte(&input);
		size_t part;
		const uint8_t *bytes = input_part(&input, &part);

		if (what == 0)
			must(shutdown(host, SHUT_WR) == 0 || errno == ENOTCONN);
		now_ms += what == 1 ? EXCHANGE_LINGER_MS : 1;
		exchange_tick(&exchange, now_ms);
		say(what % 2 ? host : workload, bytes, part);
	}
	end();
	must_have_no_value();
	must_be_requests(&rig.plain);
	return 0;
}
