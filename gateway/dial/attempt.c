/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/dial/attempt.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"

/* Small writes of a workload go out at once, and a host that is gone is noticed. */
static bool set_options(int fd)
{
	const int on = 1;

	return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0 &&
	       setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) == 0;
}

/* Dial the address. Return whether the connection is there; else there is a socket if it may come.
 */
static bool dial_address(struct attempt *attempt, uint64_t now_ms)
{
	struct sockaddr_storage to;
	const socklen_t size =
		choose_print(&attempt->addresses[attempt->at], attempt->peer_port, &to);
	int result;

	attempt->was_dialled = true;
	attempt->due_ms = now_ms + ATTEMPT_ADDRESS_MS;
	attempt->events = POLLOUT;
	attempt->fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (attempt->fd < 0 || !set_options(attempt->fd)) {
		fd_close(&attempt->fd);
		return false;
	}
	do
		result = connect(attempt->fd, (const struct sockaddr *)&to, size);
	while (result != 0 && errno == EINTR);
	if (result != 0 && errno != EINPROGRESS)
		fd_close(&attempt->fd);
	return result == 0;
}

/* A proxy has the addresses that the operator means; a literal address of the host is judged before
 * the proxy is asked for it. */
static enum dial_refusal judge_address(const struct attempt *attempt,
				       const struct host_address *address)
{
	if (!attempt->is_through)
		return dial_judge(attempt->host, &attempt->wanted, address, attempt->port);
	return host_proxy_may_be(&attempt->peer, address) ? DIAL_ALLOWED : DIAL_KIND;
}

/* Go on with a connection that is there. */
static enum attempt_state take_connection(struct attempt *attempt)
{
	if (!attempt->is_through)
		return ATTEMPT_CONNECTED;
	attempt->answer = (struct proxy_answer){ .size = 0 };
	attempt->events = POLLIN;
	attempt->due_ms = attempt->end_ms;
	return proxy_ask(attempt->fd, attempt->wanted.name, attempt->port) ? ATTEMPT_WAITS
									   : ATTEMPT_PROXY_BROKEN;
}

/* Dial addresses from `at` on, until one takes the connection or may do so. */
static enum attempt_state dial_from(struct attempt *attempt, uint32_t at, uint64_t now_ms)
{
	for (; at < attempt->count && now_ms < attempt->end_ms; at++) {
		const enum dial_refusal refusal = judge_address(attempt, &attempt->addresses[at]);

		attempt->at = at;
		attempt->is_unrouted |= refusal == DIAL_NO_ROUTE;
		attempt->is_own |= refusal == DIAL_OWN;
		if (refusal != DIAL_ALLOWED)
			continue;
		if (dial_address(attempt, now_ms))
			return take_connection(attempt);
		if (attempt->fd >= 0)
			return ATTEMPT_WAITS;
	}
	return attempt->is_through    ? ATTEMPT_PROXY_FAILED
	       : attempt->was_dialled ? ATTEMPT_FAILED
	       : attempt->is_unrouted ? ATTEMPT_NO_ROUTE
	       : attempt->is_own      ? ATTEMPT_OWN
				      : ATTEMPT_FORBIDDEN;
}

enum attempt_state attempt_begin(struct attempt *attempt, const struct resolution *resolution,
				 uint64_t now_ms)
{
	enum dial_refusal refusal;

	attempt->was_dialled = attempt->is_own = attempt->is_unrouted = false;
	attempt->fd = -1;
	attempt->end_ms = now_ms + ATTEMPT_MS;
	if (attempt->is_through && attempt->wanted.is_address) {
		refusal = dial_judge(attempt->host, &attempt->wanted, &attempt->wanted.address,
				     attempt->port);
		/* The proxy's routes are not ours. */
		if (refusal == DIAL_KIND || refusal == DIAL_OWN)
			return refusal == DIAL_OWN ? ATTEMPT_OWN : ATTEMPT_FORBIDDEN;
	}
	attempt->count = resolution->count;
	memcpy(attempt->addresses, resolution->addresses, sizeof(attempt->addresses));
	return dial_from(attempt, 0, now_ms);
}

enum attempt_state attempt_go_on(struct attempt *attempt, bool is_ready, uint64_t now_ms)
{
	static const enum attempt_state answers[] = {
		[PROXY_WAITS] = ATTEMPT_WAITS,           [PROXY_OPEN] = ATTEMPT_CONNECTED,
		[PROXY_REFUSED] = ATTEMPT_PROXY_REFUSED, [PROXY_LOGIN] = ATTEMPT_PROXY_LOGIN,
		[PROXY_BROKEN] = ATTEMPT_PROXY_BROKEN,
	};
	int error = EINPROGRESS;
	socklen_t size = sizeof(error);

	if (attempt->events == POLLIN) {
		const enum attempt_state state =
			is_ready ? answers[proxy_receive(&attempt->answer, attempt->fd)]
				 : ATTEMPT_WAITS;

		return state == ATTEMPT_WAITS && now_ms >= attempt->end_ms ? ATTEMPT_PROXY_BROKEN
									   : state;
	}
	if (is_ready && (getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0))
		error = errno;
	if (is_ready && error == 0)
		return take_connection(attempt);
	if (!is_ready && now_ms < attempt->due_ms && now_ms < attempt->end_ms)
		return ATTEMPT_WAITS;
	fd_close(&attempt->fd);
	return dial_from(attempt, attempt->at + 1, now_ms);
}

void attempt_end(struct attempt *attempt)
{
	fd_close(&attempt->fd);
}
