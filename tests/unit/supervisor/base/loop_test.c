/* SPDX-License-Identifier: Apache-2.0 */
#include "base/loop.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/channel.h"

/* A pipe that is watched; what happens to it is counted. */
struct pipe {
	int in, out;
	struct loop_watch watch;
	int calls;
	struct pipe *removes; /* which one its callback stops watching */
};

static struct pipe first, second;

static void on_ready(void *context)
{
	struct pipe *pipe = context;

	pipe->calls++;
	if (pipe->removes)
		loop_remove(&pipe->removes->watch);
}

static void watch_pipe(struct pipe *pipe)
{
	int ends[2];

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	*pipe = (struct pipe){ .in = ends[1], .out = ends[0] };
	cr_assert_eq(loop_add(&pipe->watch, pipe->out, on_ready, pipe), 0);
}

static void fill(const struct pipe *pipe)
{
	cr_assert_eq(write(pipe->in, "x", 1), 1);
}

static void open_loop(void)
{
	cr_assert_eq(loop_open(), 0);
	watch_pipe(&first);
	watch_pipe(&second);
}

TestSuite(loop, .init = open_loop, .timeout = 30);

Test(loop, what_is_ready_is_called_with_its_context)
{
	fill(&first);
	cr_assert_eq(loop_turn(0), 0);
	cr_assert_eq(first.calls, 1);
	cr_assert_eq(second.calls, 0);
}

Test(loop, it_is_called_until_it_was_read)
{
	char byte;

	fill(&first);
	cr_assert_eq(loop_turn(0), 0);
	cr_assert_eq(loop_turn(0), 0);
	cr_assert_eq(first.calls, 2);
	cr_assert_eq(read(first.out, &byte, 1), 1);
	cr_assert_eq(loop_turn(0), 0);
	cr_assert_eq(first.calls, 2);
}

Test(loop, all_that_are_ready_are_called_in_one_turn)
{
	fill(&first);
	fill(&second);
	cr_assert_eq(loop_turn(UINT64_MAX), 0);
	cr_assert_eq(first.calls, 1);
	cr_assert_eq(second.calls, 1);
}

Test(loop, what_a_callback_removes_is_not_called)
{
	first.removes = &second;
	second.removes = &first;
	fill(&first);
	fill(&second);
	cr_assert_eq(loop_turn(0), 0);
	cr_assert_eq(first.calls + second.calls, 1, "one of them, whichever came first");
	cr_assert_eq(loop_turn(0), 0);
	cr_assert_eq(first.calls + second.calls, 2, "the other is left");
	cr_assert(first.calls == 0 || second.calls == 0);
}

Test(loop, a_callback_may_remove_itself)
{
	first.removes = &first;
	fill(&first);
	cr_assert_eq(loop_turn(0), 0);
	cr_assert_eq(loop_turn(0), 0);
	cr_assert_eq(first.calls, 1);
}

Test(loop, a_removed_one_can_be_watched_again)
{
	loop_remove(&first.watch);
	loop_remove(&first.watch);
	fill(&first);
	cr_assert_eq(loop_turn(0), 0);
	cr_assert_eq(first.calls, 0);
	cr_assert_eq(loop_add(&first.watch, first.out, on_ready, &first), 0);
	cr_assert_eq(loop_turn(0), 0);
	cr_assert_eq(first.calls, 1);
}

Test(loop, what_cannot_be_watched_is_an_error)
{
	struct loop_watch watch = { .fd = -1 };
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	cr_assert_eq(loop_add(&watch, -1, on_ready, NULL), -EBADF);
	cr_assert_eq(loop_add(&watch, file, on_ready, NULL), -EPERM);
	cr_assert_eq(loop_add(&watch, first.out, on_ready, NULL), -EEXIST);
	cr_assert_null(watch.on_ready, "as it was");
	loop_remove(&watch);
	fd_close(&file);
	fill(&first);
	cr_assert_eq(loop_turn(0), 0);
	cr_assert_eq(first.calls, 1, "still watched");
}

Test(loop, a_peer_that_is_gone_is_reported)
{
	struct loop_watch watch;
	int pair[2];

	fd_close(&first.in);
	cr_assert_eq(loop_turn(0), 0);
	cr_assert_eq(first.calls, 1, "a pipe's writer");
	loop_remove(&first.watch);
	cr_assert_eq(channel_pair(pair), 0);
	second.calls = 0;
	cr_assert_eq(loop_add(&watch, pair[0], on_ready, &second), 0);
	cr_assert_eq(loop_turn(0), 0);
	cr_assert_eq(second.calls, 0, "still there");
	fd_close(&pair[1]);
	cr_assert_eq(loop_turn(0), 0);
	cr_assert_eq(second.calls, 1, "a channel's other end");
}

Test(loop, a_deadline_that_is_over_does_not_wait)
{
	const uint64_t before = clock_now_us();

	cr_assert_eq(loop_turn(before - 1), 0);
	cr_assert_eq(loop_turn(0), 0);
	cr_assert_lt(clock_now_us() - before, 1000000);
}

Test(loop, a_deadline_is_waited_for)
{
	const uint64_t deadline = clock_now_us() + 30500;

	cr_assert_eq(loop_turn(deadline), 0);
	cr_assert_geq(clock_now_us(), deadline, "never too early: it would turn in circles");
	cr_assert_lt(clock_now_us(), deadline + 10000000);
}

Test(loop, what_is_ready_ends_the_waiting)
{
	const uint64_t before = clock_now_us();

	fill(&first);
	cr_assert_eq(loop_turn(before + 20000000), 0);
	cr_assert_lt(clock_now_us() - before, 10000000);
	cr_assert_eq(first.calls, 1);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
	(void)signal; /* there is only one */
	alarms++;
}

Test(loop, a_signal_is_no_failure)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval often = { { 0, 20000 }, { 0, 20000 } };

	cr_assert_eq(sigaction(SIGALRM, &action, NULL), 0);
	cr_assert_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
	cr_assert_eq(loop_turn(UINT64_MAX), 0);
	cr_assert_gt(alarms, 0);
	cr_assert_eq(first.calls, 0);
}

Test(loop_closed, turning_is_an_error)
{
	struct loop_watch watch = { .fd = -1 };

	cr_assert_eq(loop_turn(0), -EBADF);
	cr_assert_eq(loop_add(&watch, 0, on_ready, NULL), -EBADF);
}
