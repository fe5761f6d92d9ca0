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

#include "common/fd.h"
#include "common/names.h"
#include "spawn.h"
#include "watch.h"

static struct channel_message message;
static struct spawn spawn = SPAWN_EMPTY;
static pid_t workload; /* the execution's first process, 0 when none runs */
static uint64_t cpu_us;
static uint64_t peak_bytes;
static bool is_over_memory;

static void take_fds(int *into, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		fd_close(&into[i]);
		into[i] = message.fds[i];
		message.fds[i] = -1;
	}
}

static int report_failed(const struct init *init, uint32_t stage, int error)
{
	const struct ipc_spawn_done done = { .slot = spawn.slot,
					     .stage = stage,
					     .error = (uint32_t)error };

	return channel_send(&init->channel, IPC_TYPE_spawn_done, &done, NULL, MSG_DONTWAIT);
}

static int report_spawned(const struct init *init, int terminal)
{
	const struct ipc_spawned spawned = { .slot = spawn.slot };

	return channel_send(&init->channel,
			    terminal >= 0 ? IPC_TYPE_spawned_tty : IPC_TYPE_spawned, &spawned,
			    &terminal, MSG_DONTWAIT);
}

static int handle_spawn_stdio(const struct init *init)
{
	(void)init;
	take_fds(spawn.stdio, 3);
	return 0;
}

static int handle_spawn_code(const struct init *init)
{
	(void)init;
	take_fds(&spawn.code, 1);
	memcpy(spawn.code_path, message.body.spawn_code.path, sizeof(spawn.code_path));
	return 0;
}

static int handle_spawn_cgroup(const struct init *init)
{
	(void)init;
	take_fds(&spawn.cgroup, 1);
	return 0;
}

static int handle_spawn(const struct init *init)
{
	uint32_t stage = STAGE_NONE;
	int terminal = -1;
	int error;

	if (workload != 0)
		return -EPROTO;
	error = spawn_start(init, &spawn, &message.body.spawn, &workload, &terminal, &stage);
	spawn_done(&spawn);
	error = error ? report_failed(init, stage, -error) : report_spawned(init, terminal);
	fd_close(&terminal);
	return error;
}

/* Everything in the pid namespace but this process. */
static void kill_all(void)
{
	(void)kill(-1, SIGKILL); /* ESRCH: nothing was left */
}

static int handle_spawn_kill(const struct init *init)
{
	(void)init;
	kill_all();
	return 0;
}

static int (*const handlers[IPC_TYPE_COUNT])(const struct init *) = {
	[IPC_TYPE_spawn_stdio] = handle_spawn_stdio,
	[IPC_TYPE_spawn_code] = handle_spawn_code,
	[IPC_TYPE_spawn_cgroup] = handle_spawn_cgroup,
	[IPC_TYPE_spawn] = handle_spawn,
	[IPC_TYPE_spawn_kill] = handle_spawn_kill,
};

static uint64_t microseconds(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static int report_done(const struct init *init, int status)
{
	const struct ipc_spawn_done done = { .slot = spawn.slot,
					     .stage = STAGE_NONE,
					     .status = (uint32_t)status,
					     .over_memory = is_over_memory,
					     .cpu_us = cpu_us,
					     .peak_bytes = peak_bytes };

	return channel_send(&init->channel, IPC_TYPE_spawn_done, &done, NULL, MSG_DONTWAIT);
}

/* Orphans come to PID 1; what they used is the execution's too. */
static int reap(const struct init *init)
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
			error = report_done(init, status);
		}
	}
	return error;
}

static int receive(const struct init *init)
{
	enum ipc_error wrong;
	int status = channel_receive(&init->channel, &message, MSG_DONTWAIT, &wrong);

	if (status == -EAGAIN)
		return 0;
	if (status <= 0)
		return status < 0 ? status : -ESHUTDOWN;
	status = handlers[message.type] ? handlers[message.type](init) : -EPROTO;
	channel_message_done(&message);
	return status;
}

static int block_sigchld(void)
{
	sigset_t set;

	if (sigemptyset(&set) != 0 || sigaddset(&set, SIGCHLD) != 0 ||
	    sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -errno;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void check_memory(const struct init *init)
{
	const uint64_t used = watch_memory();

	if (used > peak_bytes)
		peak_bytes = used;
	if (used <= init->profile->memory_bytes)
		return;
	is_over_memory = true;
	kill_all();
}

void serve_run(const struct init *init)
{
	const bool is_watched = init->factory->limits == LIMITS_FALLBACK;
	const int children = block_sigchld();
	struct pollfd polls[2] = { { .fd = init->channel.fd, .events = POLLIN },
				   { .fd = children, .events = POLLIN } };
	int error = children < 0 || (is_watched && watch_open() != 0) ? -1 : 0;

	while (!error) {
		const int timeout = is_watched && workload != 0 ? WATCH_INTERVAL_MS : -1;
		const int ready = poll(polls, 2, timeout);
		struct signalfd_siginfo ignored;

		if (ready < 0 && errno != EINTR)
			break;
		if (polls[1].revents) {
			(void)!read(children, &ignored, sizeof(ignored)); /* wait4 tells more */
			error = reap(init);
		}
		if (!error && polls[0].revents)
			error = receive(init);
		if (is_watched && workload != 0)
			check_memory(init);
	}
	_exit(0);
}
