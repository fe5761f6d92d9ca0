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
#include <time.h>

#include "common/dispatch.h"
#include "common/fd.h"
#include "common/names.h"
#include "observe.h"
#include "probe.h"
#include "spawn.h"
#include "watch.h"

/* How long nothing may die before the report is sent without it: half of what the supervisor waits
 * for that. */
#define ENDING_MS 100

static const struct init *init;
static struct spawn spawn = SPAWN_EMPTY;
static pid_t workload;  /* the execution's first process, 0 when none runs */
static bool is_watched; /* no cgroup limits it */
static bool is_ending;  /* it ended, and what it left behind is being killed */
static struct ipc_spawn_done done = { .stage = STAGE_NONE };
static int64_t look_ms; /* when the fallback's limits are to be looked at next */

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

/* What was found of the layers is told with what comes next: one reason to wake up, not two. */
static int handle_spawn(void *context, struct channel_message *message)
{
	const struct ipc_spawn *request = &message->body.spawn;
	struct ipc_spawn_done failed = { .slot = request->slot };
	struct ipc_posture posture = { .slot = request->slot };
	const struct ipc_spawned spawned = { .slot = request->slot };
	bool is_proven = request->probe == PROBE_NONE;
	int terminal = -1;
	int error = 0;

	if (workload != 0 || is_ending)
		return -EPROTO;
	if (!is_proven) {
		error = spawn_probe(init, &spawn, &failed.stage);
		is_proven = !error && probe_tell(&posture.measured);
		if (!error && (!is_proven || request->probe == PROBE_ALONE))
			return send_report(IPC_TYPE_posture, &posture, -1);
	}
	if (!error)
		error = spawn_start(init, &spawn, request, &workload, &terminal, &failed.stage);
	failed.error = (uint32_t)-error;
	spawn_done(&spawn);
	if (is_proven && request->probe != PROBE_NONE)
		(void)send_report(IPC_TYPE_posture, &posture, -1); /* the next one tells */
	if (error)
		return send_report(IPC_TYPE_spawn_done, &failed, -1);
	error = send_report(terminal < 0 ? IPC_TYPE_spawned : IPC_TYPE_spawned_tty, &spawned,
			    terminal);
	fd_close(&terminal);
	return error;
}

/* A group that the first process was made the leader of, or made anew: of its own sandbox in any
 * case, since no other process has a number in this pid namespace. */
static int handle_spawn_signal(void *context, struct channel_message *message)
{
	if (workload != 0) /* it keeps its number, also of the group, until it is reaped */
		(void)kill(-workload, (int)message->body.spawn_signal.signal); /* ESRCH: it left */
	return 0;
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
	[IPC_TYPE_spawn_signal] = handle_spawn_signal, [IPC_TYPE_spawn_kill] = handle_spawn_kill,
};

static int report_done(void)
{
	struct rusage usage;

	is_ending = false;
	done.slot = spawn.slot;
	(void)getrusage(RUSAGE_CHILDREN, &usage); /* everything that was reaped */
	done.cpu_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
		      (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	if ((uint64_t)usage.ru_maxrss * 1024 > done.peak_bytes)
		done.peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
	observe_report(&done);
	return send_report(IPC_TYPE_spawn_done, &done, -1);
}

static int64_t now_ms(void)
{
	struct timespec now = { .tv_sec = 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* this clock is always there */
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The fallback's limits on memory and processes. */
static void look(void)
{
	const struct plan_profile *profile = init->profile;
	struct watch_usage usage = watch_processes();

	/* A page of a file that is mapped as well counts twice rather than not at all. */
	usage.bytes += watch_files(&init->factory->plan, profile).bytes;
	if (usage.bytes > done.peak_bytes)
		done.peak_bytes = usage.bytes;
	done.over_memory |= usage.bytes > profile->memory_bytes;
	done.over_pids |= usage.tasks + !workload >= profile->pids;
	look_ms = now_ms() + watch_pause_ms(usage.bytes, profile->memory_bytes);
	if (usage.bytes > profile->memory_bytes)
		kill_all();
}

/* Until the next look; by no clock is it longer than between any two. */
static int left_ms(void)
{
	const int64_t left = look_ms - now_ms();

	return left <= 0 || left > WATCH_MOST_MS ? 0 : (int)left;
}

/* The sandbox ends with the execution's first process, and so does what that leaves behind. */
static void end_execution(int status)
{
	done.status = (uint32_t)status;
	workload = 0;
	is_ending = true;
	if (status != 0 && is_watched)
		look();
	if (status != 0)
		done.over_disk = watch_files(&init->factory->plan, init->profile).is_full;
	kill_all();
}

/* Orphans come to PID 1. The report waits for all of them, since what they used is the execution's
 * too, but not for one that does not die. */
static int reap(bool is_late)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == workload)
			end_execution(status);
	}
	return is_ending && (pid < 0 || is_late) ? report_done() : 0;
}

static int block_sigchld(void)
{
	sigset_t set;

	if (sigemptyset(&set) != 0 || sigaddset(&set, SIGCHLD) != 0 ||
	    sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -errno;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
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
	const int children = block_sigchld();
	struct pollfd polls[3] = { { .fd = own->channel.fd, .events = POLLIN },
				   { .fd = children, .events = POLLIN },
				   { .events = POLLIN } };
	int error;

	init = own;
	is_watched = own->factory->limits == LIMITS_FALLBACK;
	error = children < 0 || (is_watched && watch_open() != 0) ? -1 : 0;
	while (!error) {
		const bool watch_now = is_watched && workload != 0;
		struct signalfd_siginfo ignored;

		polls[2].fd = observe_fd();
		const int ready = poll(polls, 3,
				       is_ending   ? ENDING_MS
				       : watch_now ? left_ms()
						   : -1);
		if (ready < 0 && errno != EINTR)
			break;
		/* Not at each refused call: a flood of them would be a flood of looks. */
		if (watch_now && left_ms() == 0)
			look();
		observe_answer(init, polls[2].revents);
		if (polls[1].revents)
			(void)!read(children, &ignored, sizeof(ignored)); /* waitpid tells more */
		if (polls[1].revents || is_ending)
			error = reap(ready == 0);
		if (!error && polls[0].revents)
			error = receive();
	}
	_exit(0);
}
