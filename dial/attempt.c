/* SPDX-License-Identifier: Apache-2.0 */
#include "dial/attempt.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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
	const socklen_t size = choose_print(&attempt->addresses[attempt->at], attempt->port, &to);
	int result;

	attempt->was_dialled = true;
	attempt->due_ms = now_ms + ATTEMPT_ADDRESS_MS;
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

/* Dial addresses from `at` on, until one takes the connection or may do so. */
static enum attempt_state dial_from(struct attempt *attempt, uint32_t at, uint64_t now_ms)
{
	for (; at < attempt->count && now_ms < attempt->end_ms; at++) {
		const struct host_address *address = &attempt->addresses[at];

		attempt->at = at;
		if (dial_judge(attempt->host, &attempt->wanted, address) != DIAL_ALLOWED)
			continue;
		if (dial_address(attempt, now_ms))
			return ATTEMPT_CONNECTED;
		if (attempt->fd >= 0)
			return ATTEMPT_WAITS;
	}
	return attempt->was_dialled ? ATTEMPT_FAILED : ATTEMPT_FORBIDDEN;
}

enum attempt_state attempt_begin(struct attempt *attempt, const struct resolution *resolution,
				 uint64_t now_ms)
{
	attempt->count = resolution->count;
	memcpy(attempt->addresses, resolution->addresses, sizeof(attempt->addresses));
	attempt->was_dialled = false;
	attempt->fd = -1;
	attempt->end_ms = now_ms + ATTEMPT_MS;
	return dial_from(attempt, 0, now_ms);
}

enum attempt_state attempt_go_on(struct attempt *attempt, bool is_ready, uint64_t now_ms)
{
	int error = EINPROGRESS;
	socklen_t size = sizeof(error);

	if (is_ready && (getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0))
		error = errno;
	if (is_ready && error == 0)
		return ATTEMPT_CONNECTED;
	if (!is_ready && now_ms < attempt->due_ms && now_ms < attempt->end_ms)
		return ATTEMPT_WAITS;
	fd_close(&attempt->fd);
	return dial_from(attempt, attempt->at + 1, now_ms);
}

void attempt_end(struct attempt *attempt)
{
	fd_close(&attempt->fd);
}
