/* SPDX-License-Identifier: Apache-2.0 */
#include "serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/dispatch.h"
#include "common/fd.h"
#include "common/names.h"
#include "spawn.h"
#include "watch.h"

static const struct init *init;
static struct spawn spawn = SPAWN_EMPTY;
static pid_t workload; /* the execution's first process, 0 when none runs */
static uint64_t cpu_us;
static uint64_t peak_bytes;
static bool is_over_memory;

static int send_report(uint32_t type, const void *report, int fd)
{
	return channel_send(&init->channel, type, report, &fd, MSG_DONTWAIT);
}

static void take_fds(struct channel_message *message, int *into)
{
	for (unsigned int i = 0; i < message->fd_count; i++) {
		fd_close(&into[i]);
		into[i] = channel_take_fd(message, i);
	}
}

static int handle_spawn_stdio(void *context, struct channel_message *message)
{
	take_fds(message, spawn.stdio);
	return 0;
}

static int handle_spawn_code(void *context, struct channel_message *message)
{
	take_fds(message, &spawn.code);
	memcpy(spawn.code_path, message->body.spawn_code.path, sizeof(spawn.code_path));
	return 0;
}

static int handle_spawn_cgroup(void *context, struct channel_message *message)
{
	take_fds(message, &spawn.cgroup);
	return 0;
}

static int handle_spawn(void *context, struct channel_message *message)
{
	struct ipc_spawn_done failed = { .slot = message->body.spawn.slot };
	const struct ipc_spawned spawned = { .slot = message->body.spawn.slot };
	int terminal = -1;
	int error;

	if (workload != 0)
		return -EPROTO;
	error = spawn_start(init, &spawn, &message->body.spawn, &workload, &terminal,
			    &failed.stage);
	failed.error = (uint32_t)-error;
	spawn_done(&spawn);
	if (error)
		return send_report(IPC_TYPE_spawn_done, &failed, -1);
	error = send_report(terminal < 0 ? IPC_TYPE_spawned : IPC_TYPE_spawned_tty, &spawned,
			    terminal);
	fd_close(&terminal);
	return error;
}

/* Everything in the pid namespace but this process. */
static void kill_all(void)
{
	(void)kill(-1, SIGKILL); /* ESRCH: nothing was left */
}

static int handle_spawn_kill(void *context, struct channel_message *message)
{
	kill_all();
	return 0;
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_spawn_stdio] = handle_spawn_stdio,   [IPC_TYPE_spawn_code] = handle_spawn_code,
	[IPC_TYPE_spawn_cgroup] = handle_spawn_cgroup, [IPC_TYPE_spawn] = handle_spawn,
	[IPC_TYPE_spawn_kill] = handle_spawn_kill,
};

static uint64_t microseconds(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static int report_done(int status)
{
	const struct ipc_spawn_done done = { .slot = spawn.slot,
					     .stage = STAGE_NONE,
					     .status = (uint32_t)status,
					     .over_memory = is_over_memory,
					     .cpu_us = cpu_us,
					     .peak_bytes = peak_bytes };

	return send_report(IPC_TYPE_spawn_done, &done, -1);
}

/* Orphans come to PID 1; what they used is the execution's too. */
static int reap(void)
{
	struct rusage usage;
	int status;
	int error = 0;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		cpu_us += microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
		if ((uint64_t)usage.ru_maxrss * 1024 > peak_bytes)
			peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
		if (pid == workload) {
			workload = 0;
			error = report_done(status);
		}
	}
	return error;
}

static int block_sigchld(void)
{
	sigset_t set;

	if (sigemptyset(&set) != 0 || sigaddset(&set, SIGCHLD) != 0 ||
	    sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -errno;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void check_memory(void)
{
	const uint64_t used = watch_memory();

	if (used > peak_bytes)
		peak_bytes = used;
	if (used <= init->profile->memory_bytes)
		return;
	is_over_memory = true;
	kill_all();
}

static int receive(void)
{
	static struct channel_message message;
	enum ipc_error wrong;
	const int status =
		dispatch_one(&init->channel, &message, MSG_DONTWAIT, handlers, NULL, &wrong);

	return status == 1 || status == -EAGAIN ? 0 : -ESHUTDOWN;
}

void serve_run(const struct init *own)
{
	const bool is_watched = own->factory->limits == LIMITS_FALLBACK;
	const int children = block_sigchld();
	struct pollfd polls[2] = { { .fd = own->channel.fd, .events = POLLIN },
				   { .fd = children, .events = POLLIN } };
	int error = children < 0 || (is_watched && watch_open() != 0) ? -1 : 0;

	init = own;
	while (!error) {
		const bool watch_now = is_watched && workload != 0;
		struct signalfd_siginfo ignored;

		if (poll(polls, 2, watch_now ? WATCH_INTERVAL_MS : -1) < 0 && errno != EINTR)
			break;
		if (watch_now)
			check_memory();
		if (polls[1].revents) {
			(void)!read(children, &ignored, sizeof(ignored)); /* wait4 tells more */
			error = reap();
		}
		if (!error && polls[0].revents)
			error = receive();
	}
	_exit(0);
}
