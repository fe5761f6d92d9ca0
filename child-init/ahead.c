/* SPDX-License-Identifier: Apache-2.0 */
#include "ahead.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "common/channel.h"
#include "common/fd.h"
#include "common/names.h"
#include "memory.h"
#include "watch.h"

static struct {
	pid_t pid; /* 0: none */
	int from; /* its messages, and whether it has executed; in the process itself: the other end
		   */
	int clock;               /* both have it */
	struct spawn_told *told; /* on a page that both have, until it executes */
	struct workload workload;
} ahead = { .from = -1, .clock = -1, .workload = WORKLOAD_NONE };

static long clone_copy(int leaf)
{
	struct kernel_clone_args args = { .exit_signal = SIGCHLD };

	kernel_clone_into(&args, leaf);
	return syscall(SYS_clone3, &args, sizeof(args));
}

/* Map the memory that both use; it stays until the init rests. 0 or -errno */
static int map_shared(void)
{
	static const struct itimerspec never;
	void *page = ahead.told;

	if (!page)
		page = mmap(NULL, sizeof(*ahead.told), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -errno;
	ahead.told = page;
	*ahead.told = (struct spawn_told){ 0 };
	if (ahead.clock < 0)
		ahead.clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return ahead.clock >= 0 && timerfd_settime(ahead.clock, 0, &never, NULL) == 0 ? 0 : -errno;
}

/* Look for its exec or end only while nothing is watched for anyway: to wake the init at once would
 * cost a short workload a part of the CPU. */
static int set_clock(void)
{
	const struct itimerspec in = { .it_value.tv_nsec = WATCH_LEAST_MS * 1000000L };

	return timerfd_settime(ahead.clock, 0, &in, NULL) == 0 ? 0 : -errno;
}

pid_t ahead_fork(int leaf)
{
	int ends[2];
	int error = map_shared();
	long pid;

	if (!error)
		error = channel_pair(ends);
	if (error)
		return error;
	pid = clone_copy(leaf);
	error = -errno;
	ahead.workload = (struct workload)WORKLOAD_NONE;
	ahead.from = pid == 0 ? ends[1] : ends[0];
	fd_close(pid == 0 ? &ends[0] : &ends[1]);
	if (pid < 0)
		fd_close(&ahead.from);
	ahead.pid = pid > 0 ? (pid_t)pid : 0;
	return pid < 0 ? error : (pid_t)pid;
}

void ahead_wait(const struct init *init, int from, const dispatch_handler handlers[IPC_TYPE_COUNT])
{
	const struct channel channel = { from, IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	enum ipc_error wrong;
	int status = spawn_ahead(init, ahead.from, ahead.told) == 0 ? 1 : -ECANCELED;

	/* The pages in which a request's words will be are its own before one comes. */
	scratch.request.body.spawn.argv[0] = scratch.request.body.spawn.environment[0] = '\0';
	while (status == 1)
		status = dispatch_one(&channel, &scratch.request, 0, handlers, NULL, &wrong);
	_exit(MSP_EXIT_SANDBOX);
}

void ahead_become(struct spawn *spawn, const struct ipc_spawn *request)
{
	ahead.told->taken_us = clock_now_us();
	if (set_clock() != 0)
		_exit(MSP_EXIT_SANDBOX); /* no process would watch it */
	ahead.told->slot = request->slot;
	ahead.told->is_taken = true;
	spawn_become(spawn, request);
}

void ahead_rest(void)
{
	if (ahead.told && munmap(ahead.told, sizeof(*ahead.told)) == 0)
		ahead.told = NULL;
}

int ahead_fd(void)
{
	const int listener = ahead.workload.observed.listener;

	return ahead.pid != 0 && listener >= 0 ? listener : ahead.from;
}

int ahead_clock(void)
{
	return ahead.pid != 0 ? ahead.clock : -1;
}

pid_t ahead_pid(void)
{
	return ahead.pid;
}

void ahead_signal(int signal)
{
	if (ahead.pid != 0)
		(void)kill(ahead.pid, signal); /* not reaped yet, so it is that process */
}

enum ahead_state ahead_look(struct workload *ret, struct spawn_told *ret_told)
{
	int status;

	if (ahead.from < 0)
		return AHEAD_NONE;
	do
		status = spawn_hear(ahead.from, MSG_DONTWAIT, &ahead.workload.observed);
	while (status == 1);
	if (status == -EAGAIN && (!ahead.told->is_taken || set_clock() == 0))
		return AHEAD_WAITING;
	*ret_told = *ahead.told;
	*ret = ahead.workload;
	ret->pid = ahead.pid;
	ret->executed_us = ret_told->executed_us;
	if (status < 0) { /* its acts cannot be reported */
		ahead_signal(SIGKILL);
		ret_told->stage = STAGE_LISTENER;
		ret_told->error = status;
	}
	ahead.pid = 0;
	fd_close(&ahead.from);
	if (!ret_told->is_taken)
		fd_close(&ahead.workload.observed.listener);
	return ret_told->is_taken ? AHEAD_RUNS : AHEAD_GONE;
}
