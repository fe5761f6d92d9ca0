/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/http/parts.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "common/clock.h"
#include "common/confine/steps.h"
#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_http.h"
#include "common/log.h"
#include "gateway/http/exchange.h"
#include "gateway/http/http.h"
#include "gateway/http/secrets.h"
#include "gateway/http/trust.h"
#include "lib/heap/outbox.h"
#include "seccomp_filter.h"
#include "stewards/base/peer.h"

#define EVENTS_MAX 64
#define TICK_MS 1000
#define DATA_EGRESS (2U * HTTP_CONNECTIONS_MAX)
#define DATA_LAUNCHER (DATA_EGRESS + 1)

/* A connection; without an exchange it is free. */
static struct {
	uint64_t number;
	bool is_asking;                   /* whether it may move more bytes */
	short client_events, host_events; /* that are waited for */
	struct exchange *exchange;
} connections[HTTP_CONNECTIONS_MAX];

static struct channel egress = { -1, IPC_HTTP, IPC_EGRESS, IPC_SERVE };
static struct channel launcher = { -1, IPC_HTTP, IPC_LAUNCHER, IPC_SERVE };
static struct outbox to_egress = { .channel = &egress };
static struct channel_message message;
static const struct plan *plan;
static const struct plan_profile *profile;
static bool is_trusted; /* http_trust has come */
static uint32_t connection_count;
static int waiting;
static uint64_t now_ms;
static const char no_peer[] = "msp-egress cannot be told";

/* --- connections ------------------------------------------------------------------------------ */

static void watch_socket(int fd, uint32_t data, short *before, short events)
{
	struct epoll_event event = { .events = (uint32_t)events, .data.u32 = data };
	const int operation = events == 0    ? EPOLL_CTL_DEL
			      : *before == 0 ? EPOLL_CTL_ADD
					     : EPOLL_CTL_MOD;

	if (events == *before)
		return;
	if (epoll_ctl(waiting, operation, fd, &event) != 0)
		log_fatal(MSP_EXIT_SOFTWARE, "the event loop failed: %s", errno_text(errno));
	*before = events;
}

/* Wait for what the exchange waits for, or report its end. */
static void settle_connection(uint32_t at)
{
	struct exchange *exchange = connections[at].exchange;
	short client, host;
	struct ipc_http_done done;

	if (exchange->end != EXCHANGE_ENDED && exchange_is_held(exchange) &&
	    !connections[at].is_asking) {
		const struct ipc_http_moved moved = { connections[at].number, exchange->host.sent,
						      exchange->client.sent };

		connections[at].is_asking = true;
		peer_require(outbox_send(&to_egress, IPC_TYPE_http_moved, &moved), no_peer);
	}
	exchange_wants(exchange, &client, &host);
	watch_socket(exchange->client.fd, 2 * at, &connections[at].client_events, client);
	watch_socket(exchange->host.fd, 2 * at + 1, &connections[at].host_events, host);
	if (exchange->end != EXCHANGE_ENDED)
		return;
	done = (struct ipc_http_done){ .number = connections[at].number,
				       .sent = exchange->host.sent,
				       .received = exchange->client.sent,
				       .reason = (uint32_t)exchange->reason };
	exchange_end(exchange);
	free(exchange);
	connections[at].exchange = NULL;
	connection_count--;
	peer_require(outbox_send(&to_egress, IPC_TYPE_http_done, &done), no_peer);
}

void event_exchange_refused(struct exchange *exchange, enum connection_refused reason)
{
	struct ipc_http_refused refused = { .reason = (uint32_t)reason };

	for (uint32_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		if (connections[i].exchange == exchange)
			refused.number = connections[i].number;
	}
	peer_require(outbox_send(&to_egress, IPC_TYPE_http_refused, &refused), no_peer);
}

static void turn_connection(uint32_t at)
{
	if (connections[at].exchange == NULL) /* it has ended meanwhile */
		return;
	exchange_turn(connections[at].exchange, now_ms);
	settle_connection(at);
}

/* Begin with two sockets, which are taken. False: there is no room. */
static bool begin_connection(const struct ipc_http_open *open, const struct target *target,
			     int client, int host)
{
	struct exchange *exchange =
		connection_count < HTTP_CONNECTIONS_MAX ? malloc(sizeof(*exchange)) : NULL;
	uint32_t at = 0;

	if (exchange == NULL) {
		fd_close(&client);
		fd_close(&host);
		return false;
	}
	while (connections[at].exchange != NULL)
		at++;
	connections[at].number = open->number;
	connections[at].is_asking = false;
	connections[at].client_events = connections[at].host_events = 0;
	connections[at].exchange = exchange;
	connection_count++;
	if (!exchange_begin(exchange, target, client, host, now_ms)) {
		exchange->end = EXCHANGE_ENDED;
		exchange->reason = CONNECTION_END_LIMIT;
		exchange->is_cut = true;
		settle_connection(at);
		return true;
	}
	exchange->idle_ms = open->idle_s * 1000ULL;
	if (open->is_counted != 0)
		exchange->most = HTTP_PORTION;
	turn_connection(at);
	return true;
}

/* --- messages --------------------------------------------------------------------------------- */

static int handle_open(void *context, struct channel_message *from)
{
	const struct ipc_http_open *open = ipc_body(from, http_open);
	struct ipc_http_done done = { .number = open->number, .reason = CONNECTION_END_LIMIT };
	struct target target;

	if (open->port > UINT16_MAX ||
	    !target_find(plan, profile, open->host, (uint16_t)open->port, &target))
		return -EPROTO;
	if (begin_connection(open, &target, channel_take_fd(from, 0), channel_take_fd(from, 1)))
		return 0;
	return outbox_send(&to_egress, IPC_TYPE_http_done, &done);
}

/* Find a connection; HTTP_CONNECTIONS_MAX: it has ended. */
static uint32_t find_connection(uint64_t number)
{
	uint32_t at = 0;

	while (at < HTTP_CONNECTIONS_MAX &&
	       (connections[at].exchange == NULL || connections[at].number != number))
		at++;
	return at;
}

static int handle_more(void *context, struct channel_message *from)
{
	const uint32_t at = find_connection(ipc_body(from, http_more)->number);

	if (at == HTTP_CONNECTIONS_MAX || !connections[at].is_asking)
		return 0; /* it has ended just before */
	connections[at].is_asking = false;
	connections[at].exchange->most = connections[at].exchange->host.sent +
					 connections[at].exchange->client.sent + HTTP_PORTION;
	turn_connection(at);
	return 0;
}

static int handle_end(void *context, struct channel_message *from)
{
	const struct ipc_http_end *end = ipc_body(from, http_end);
	const uint32_t at = find_connection(end->number);

	if (at == HTTP_CONNECTIONS_MAX)
		return 0; /* it has ended just before */
	connections[at].exchange->end = EXCHANGE_ENDED;
	connections[at].exchange->reason = end->reason;
	connections[at].exchange->is_cut = true;
	settle_connection(at);
	return 0;
}

static int handle_trust(void *context, struct channel_message *from)
{
	if (is_trusted || !trust_begin(from->fds[0], from->fds[1]))
		return -EPROTO;
	is_trusted = true;
	return 0;
}

DISPATCH_CALL(handle_secret, secrets_take(ipc_body(from, http_secret)->index, from->fds[0]))

static const dispatch_handler from_egress[IPC_TYPE_COUNT] = {
	[IPC_TYPE_http_open] = handle_open,
	[IPC_TYPE_http_more] = handle_more,
	[IPC_TYPE_http_end] = handle_end,
};

static const dispatch_handler from_launcher[IPC_TYPE_COUNT] = {
	[IPC_TYPE_http_trust] = handle_trust,
	[IPC_TYPE_http_secret] = handle_secret,
};

/* --- turns ------------------------------------------------------------------------------------ */

static void watch_egress(void)
{
	static short watched;

	watch_socket(egress.fd, DATA_EGRESS, &watched,
		     to_egress.count > 0 ? POLLIN | POLLOUT : POLLIN);
}

/* Turn the connections that wait for no event. Return whether some are left. */
static bool turn_ready(void)
{
	bool is_left = false;

	for (uint32_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		if (connections[i].exchange != NULL && connections[i].exchange->is_ready)
			turn_connection(i);
		is_left |= connections[i].exchange != NULL && connections[i].exchange->is_ready;
	}
	return is_left;
}

static void tick_connections(void)
{
	for (uint32_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		if (connections[i].exchange == NULL)
			continue;
		exchange_tick(connections[i].exchange, now_ms);
		settle_connection(i);
	}
}

static void turn_once(int timeout_ms)
{
	struct epoll_event events[EVENTS_MAX];
	static uint64_t ticked_ms;
	const int count = epoll_wait(waiting, events, EVENTS_MAX, timeout_ms);

	if (count < 0 && errno != EINTR)
		log_fatal(MSP_EXIT_SOFTWARE, "the event loop failed: %s", errno_text(errno));
	now_ms = clock_now_us() / 1000;
	for (int i = 0; i < count; i++) {
		const uint32_t data = events[i].data.u32;

		if (data == DATA_EGRESS)
			(void)peer_turn(&egress, &message, from_egress, "msp-egress");
		else if (data == DATA_LAUNCHER)
			(void)peer_turn(&launcher, &message, from_launcher, "the launcher");
		else
			turn_connection(data / 2);
	}
	if (now_ms - ticked_ms >= TICK_MS) {
		tick_connections();
		ticked_ms = now_ms;
	}
}

/* Wait for the CA and the secrets: no connection is taken before. */
static void await_secrets(void)
{
	enum ipc_error wrong = IPC_OK;
	int status = 1;

	while (status == 1 && !(is_trusted && secrets_are_complete()))
		status = dispatch_one(&launcher, &message, 0, from_launcher, NULL, &wrong);
	if (status == 0)
		exit(0);
	if (status < 0)
		log_fatal(MSP_EXIT_SOFTWARE, "the launcher broke the protocol: %s",
			  wrong ? ipc_error_text(wrong) : errno_text(-status));
}

static void begin_loop(void)
{
	short watched = 0;

	waiting = epoll_create1(EPOLL_CLOEXEC); /* or the first watch_socket() fails */
	watch_socket(launcher.fd, DATA_LAUNCHER, &watched, POLLIN);
	watch_egress();
}

void server_run(int egress_fd, int launcher_fd, const struct plan *own, uint32_t index)
{
	int error;

	CONFINE_FILTER(seccomp_filter);
	egress.fd = egress_fd;
	launcher.fd = launcher_fd;
	plan = own;
	profile = plan_profile(plan, index);
	error = secrets_begin(plan, profile);
	if (error)
		log_fatal(MSP_EXIT_SOFTWARE, "the secrets of a profile cannot be kept: %s",
			  errno_text(-error));
	await_secrets();
	begin_loop();
	for (;;) {
		const bool is_left = turn_ready();

		turn_once(is_left ? 0 : connection_count > 0 ? TICK_MS : -1);
		peer_require(outbox_flush(&to_egress), no_peer);
		watch_egress();
	}
}
