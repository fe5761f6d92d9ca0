/* SPDX-License-Identifier: Apache-2.0 */
#include "base/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/fd.h"

#define EVENTS_MAX 64

static int epoll = -1;

int loop_open(void)
{
	epoll = epoll_create1(EPOLL_CLOEXEC);
	return epoll < 0 ? -errno : 0;
}

int loop_add(struct loop_watch *watch, int fd, void (*on_ready)(void *), void *context)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		return -errno;
	*watch = (struct loop_watch){ fd, on_ready, context };
	return 0;
}

void loop_remove(struct loop_watch *watch)
{
	if (watch->on_ready)
		(void)epoll_ctl(epoll, EPOLL_CTL_DEL, watch->fd, NULL); /* it was added */
	watch->on_ready = NULL;
}

void loop_close(struct loop_watch *watch, int *fd)
{
	loop_remove(watch);
	fd_close(fd);
}

static int timeout_ms(uint64_t deadline_us)
{
	const uint64_t now = clock_now_us();
	const uint64_t rest_ms = deadline_us > now ? (deadline_us - now + 999) / 1000 : 0;

	return deadline_us == UINT64_MAX ? -1 : rest_ms > 60000 ? 60000 : (int)rest_ms;
}

int loop_turn(uint64_t deadline_us)
{
	struct epoll_event events[EVENTS_MAX];
	const int count = epoll_wait(epoll, events, EVENTS_MAX, timeout_ms(deadline_us));

	if (count < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < count; i++) {
		const struct loop_watch *watch = events[i].data.ptr;

		/* An earlier callback of this turn may have removed it. */
		if (watch->on_ready)
			watch->on_ready(watch->context);
	}
	return 0;
}
