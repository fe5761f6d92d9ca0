/* SPDX-License-Identifier: Apache-2.0 */
#include "standby.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_init.h"
#include "common/text/names.h"
#include "memory.h"
#include "watch.h"

static struct {
	pid_t pid; /* 0: none */
	int from; /* its messages, and whether it has executed; in the process itself: the other end
		   */
	int clock;               /* both have it */
	struct spawn_told *told; /* on a page that both have, until it executes */
	struct observed observed;
} standby = { .from = -1, .clock = -1, .observed = OBSERVED_NOTHING };

/* Look for its exec or end only while nothing is watched for anyway: to wake the init at once would
 * cost a short workload a part of the CPU. */
static int set_clock(void)
{
	const struct itimerspec in = { .it_value.tv_nsec = WATCH_LEAST_MS * 1000000L };

	return timerfd_settime(standby.clock, 0, &in, NULL) == 0 ? 0 : -errno;
}

/* Close all that the init has of it but the listener. */
static void let_go(void)
{
	standby.pid = 0;
	standby.observed.listener = -1;
	fd_close(&standby.from);
	fd_close(&standby.clock);
	(void)munmap(standby.told, sizeof(*standby.told)); /* EINVAL: there was none */
}

pid_t standby_fork(int leaf)
{
	struct kernel_clone_args args = { .exit_signal = SIGCHLD };
	int ends[2] = { -1, -1 };
	long pid = -1;

	kernel_clone_into(&args, leaf);
	standby.told = mmap(NULL, sizeof(*standby.told), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	standby.clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (standby.told != MAP_FAILED && standby.clock >= 0 && channel_pair(ends) == 0)
		pid = syscall(SYS_clone3, &args, sizeof(args));
	const int error = -errno;

	standby.from = pid == 0 ? ends[1] : ends[0];
	fd_close(pid == 0 ? &ends[0] : &ends[1]);
	standby.pid = (pid_t)pid;
	if (pid < 0)
		let_go();
	return pid < 0 ? error : (pid_t)pid;
}

void standby_wait(const struct init *init, int from, const dispatch_handler *handlers)
{
	const struct channel channel = { from, IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	enum ipc_error wrong;

	/* The pages in which a request's words will be are its own before one comes. */
	scratch.request.body[offsetof(struct ipc_spawn, argv)] = 0;
	scratch.request.body[offsetof(struct ipc_spawn, environment)] = 0;
	for (int status = spawn_standby(init, standby.from, standby.told) == 0; status == 1;)
		status = dispatch_one(&channel, &scratch.request, 0, handlers, NULL, &wrong);
	_exit(MSP_EXIT_SANDBOX);
}

void standby_become(struct spawn *spawn, struct ipc_spawn *request)
{
	standby.told->taken_us = clock_now_us();
	if (set_clock() != 0)
		_exit(MSP_EXIT_SANDBOX); /* no process would watch it */
	standby.told->slot = request->slot;
	standby.told->is_taken = true;
	spawn_become(spawn, request);
}

void standby_poll(struct pollfd ret[2])
{
	const int listener = standby.observed.listener;

	ret[0] = (struct pollfd){ .fd = listener >= 0 ? listener : standby.from, .events = POLLIN };
	ret[1] = (struct pollfd){ .fd = standby.clock, .events = POLLIN };
}

pid_t standby_pid(void)
{
	return standby.pid;
}

void standby_signal(int signal)
{
	if (standby.pid != 0)
		(void)kill(standby.pid, signal); /* not reaped yet, so it is that process */
}

enum standby_state standby_look(struct workload *ret, struct spawn_told *ret_told)
{
	int status;

	if (standby.from < 0)
		return STANDBY_NONE;
	do
		status = spawn_hear(standby.from, MSG_DONTWAIT, &standby.observed);
	while (status == 1);
	if (status == -EAGAIN && (!standby.told->is_taken || set_clock() == 0))
		return STANDBY_WAITING;
	*ret_told = *standby.told;
	*ret = (struct workload){ .pid = standby.pid,
				  .terminal = -1,
				  .executed_us = ret_told->executed_us,
				  .observed = standby.observed };
	if (status < 0) { /* its acts cannot be reported */
		standby_signal(SIGKILL);
		ret_told->stage = STAGE_LISTENER;
		ret_told->error = status;
	}
	let_go();
	if (!ret_told->is_taken)
		fd_close(&ret->observed.listener);
	return ret_told->is_taken ? STANDBY_RUNS : STANDBY_GONE;
}
