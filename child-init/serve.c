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
#include "common/ipc/dispatch.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_posture.h"
#include "common/ipc/limits_mode.h"
#include "common/text/names.h"
#include "gate.h"
#include "memory.h"
#include "observe.h"
#include "probe.h"
#include "spawn.h"
#include "standby.h"
#include "watch.h"

/* How long nothing may die before the report is sent without it: half of what the supervisor waits
 * for that. */
#define ENDING_MS 100

/* With a listener the kernel throws away a filter, on the CPU that the report's readers need. */
#define SPENT_MS 1

/* Until nothing seems to come after an execution. */
#define REST_MS 100

/* The slot of a standby process that is being killed: no message is about it. */
#define DISCARDED_SLOT (STANDBY_SLOT + 1)

/* From the first message that names its slot to its report. */
struct execution {
	bool is_used;
	struct spawn spawn; /* its slot, and what its workload is started with */
	struct workload workload;
	struct ipc_spawn_done done;
};

static const struct execution nothing = { .spawn = SPAWN_EMPTY, .workload = WORKLOAD_NONE };

static const struct init *init;
/* And one that waits. */
static MEMORY_APART struct execution executions[SANDBOX_EXECUTIONS_MAX + 1];
static uint32_t executions_max;  /* 1, unless the sandbox lasts */
static uint32_t executions_used; /* none behind these was ever used: their pages are not touched */
static uint32_t known;           /* how many are used, but for one that waits: up to that limit */
static uint32_t running;         /* how many have a first process, but for one that waits */
static bool is_waiting;          /* only the standby process has one: nothing is running */
static bool is_watched;          /* no cgroup limits it */
static bool is_ending;           /* its one execution ended, and what that left is being killed */
static int spent = -1;           /* a listener, to be closed when nothing else is to be done */
static bool has_rested;          /* no request came since it gave back memory */
static int64_t look_ms;          /* when the fallback's limits are to be looked at next */

static int64_t now_ms(void)
{
	return (int64_t)(clock_now_us() / 1000);
}

static uint64_t used_us(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static int send_report(uint32_t type, const void *report, int fd)
{
	return channel_send(&init->channel, type, report, &fd, MSG_DONTWAIT);
}

/* By its slot, or where `first` is not 0 by its first process; NULL: there is none. */
static struct execution *find_execution(uint32_t slot, pid_t first)
{
	for (uint32_t i = 0; i < executions_used; i++) {
		struct execution *execution = &executions[i];

		if (first != 0 ? execution->workload.pid == first
			       : execution->is_used && execution->spawn.slot == slot)
			return execution;
	}
	return NULL;
}

/* One whose workload does not run yet; NULL: there cannot be. */
static struct execution *prepare_execution(uint32_t slot)
{
	struct execution *execution = find_execution(slot, 0);

	if (!execution && slot < STANDBY_SLOT && known == executions_max)
		return NULL;
	for (uint32_t i = 0; i < SANDBOX_EXECUTIONS_MAX + 1 && !execution; i++) {
		if (!executions[i].is_used) {
			execution = &executions[i];
			executions[i] = nothing;
			executions[i].is_used = true;
			executions[i].spawn.slot = slot;
			executions[i].spawn.code_path = scratch.code_paths[i];
			scratch.code_paths[i][0] = '\0';
			executions_used = i < executions_used ? executions_used : i + 1;
			known += slot < STANDBY_SLOT;
		}
	}
	return !execution || execution->workload.pid != 0 || is_ending ? NULL : execution;
}

static void forget_execution(struct execution *execution)
{
	spawn_done(&execution->spawn);
	fd_close(&execution->workload.observed.listener);
	known -= execution->spawn.slot < STANDBY_SLOT;
	execution->workload.pid = 0;
	execution->is_used = false;
}

/* --- one that waits --------------------------------------------------------------------------- */

/* There is nothing but it and what it began. */
static void discard_standby(void)
{
	struct execution *waiting = find_execution(STANDBY_SLOT, 0);

	if (!is_waiting || !waiting)
		return;
	is_waiting = false;
	(void)watch_kill_all(0);
	spawn_remove_code(&waiting->spawn);
	waiting->spawn.slot = DISCARDED_SLOT; /* until it is reaped */
}

static int report_gone(int error, uint64_t cpu_us)
{
	const struct ipc_spawn_done gone = { .slot = STANDBY_SLOT,
					     .error = (uint32_t)-error,
					     .cpu_us = cpu_us };

	return send_report(IPC_TYPE_spawn_done, &gone, -1);
}

/* Beside anything that an execution left, one could be spoken to. */
static int begin_waiting(struct execution *execution, struct ipc_spawn *request)
{
	uint32_t stage;
	const int error = watch_has_children() ? -EBUSY
					       : spawn_start(init, &execution->spawn, request,
							     &execution->workload, &stage);

	spawn_done(&execution->spawn);
	is_waiting = !error;
	if (!error)
		return 0;
	if (error != -EEXIST)
		spawn_remove_code(&execution->spawn);
	forget_execution(execution);
	return report_gone(error, 0);
}

/* Is `execution` the one that waited? Else nothing of that is left. */
static bool take_waiting(struct execution *execution)
{
	struct execution *waiting = find_execution(STANDBY_SLOT, 0);

	if (!is_waiting || !waiting ||
	    !spawn_feed(&execution->spawn, &waiting->spawn, waiting->workload.pid))
		return false;
	is_waiting = false;
	execution->workload = waiting->workload;
	execution->workload.executed_us = clock_now_us();
	waiting->workload = (struct workload)WORKLOAD_NONE;
	forget_execution(waiting);
	return true;
}

/* --- what the supervisor says ----------------------------------------------------------------- */

/* Take a message that comes before a spawn; each begins with the slot. */
static int handle_attachment(void *context, struct channel_message *message)
{
	struct execution *execution = prepare_execution(ipc_slot(message));
	struct spawn *spawn = execution ? &execution->spawn : NULL;
	int *into;

	if (!spawn)
		return -EPROTO;
	into = message->type == IPC_TYPE_spawn_stdio    ? spawn->stdio
	       : message->type == IPC_TYPE_spawn_image  ? &spawn->image
	       : message->type == IPC_TYPE_spawn_cgroup ? &spawn->cgroup
							: &spawn->code;
	if (into == &spawn->code)
		memcpy(spawn->code_path, ipc_body(message, spawn_code)->path, IPC_PATH_MAX);
	for (unsigned int i = 0; i < message->fd_count; i++)
		fd_replace(&into[i], channel_take_fd(message, i));
	return 0;
}

/* Its workload runs, or a stage of its start failed. */
static int tell_begun(struct execution *execution, uint32_t stage, int error)
{
	const struct ipc_spawned_tty spawned = { .slot = execution->spawn.slot };
	const struct ipc_spawn_done failed = { .slot = spawned.slot,
					       .stage = stage,
					       .error = (uint32_t)-error };

	if (error) {
		forget_execution(execution);
		return send_report(IPC_TYPE_spawn_done, &failed, -1);
	}
	execution->done.executed_us = execution->workload.executed_us;
	if (running++ == 0) /* it cannot be beyond the limits before */
		look_ms = (int64_t)(execution->done.executed_us / 1000) + WATCH_LEAST_MS;
	if (execution->workload.terminal >= 0)
		error = send_report(IPC_TYPE_spawned_tty, &spawned, execution->workload.terminal);
	fd_close(&execution->workload.terminal);
	return error;
}

/* The posture is sent with the next message: the supervisor wakes up once, not twice. */
static int handle_spawn(void *context, struct channel_message *message)
{
	struct ipc_spawn *request = ipc_body_mutable(message, spawn);
	struct execution *execution = prepare_execution(request->slot);
	uint32_t stage = STAGE_NONE;
	struct ipc_posture posture = { .slot = request->slot };
	int error = 0;

	if (!execution)
		return -EPROTO;
	if (request->feed == FEED_WAIT)
		return begin_waiting(execution, request);
	execution->done.taken_us = clock_now_us();
	if (request->feed != FEED_TAKE || !take_waiting(execution)) {
		discard_standby();
		error = spawn_start(init, &execution->spawn, request, &execution->workload, &stage);
	}
	spawn_done(&execution->spawn);
	if (execution->workload.is_probed) {
		const bool is_proven = probe_tell(&posture.measured);
		const int sent = send_report(IPC_TYPE_posture, &posture, -1);

		if (!is_proven || request->probe == PROBE_ALONE) {
			forget_execution(execution);
			return sent;
		} /* else the next one tells */
	}
	return tell_begun(execution, stage, error);
}

/* In the process that waited. */
static int handle_spawn_in_it(void *context, struct channel_message *message)
{
	struct execution *execution = prepare_execution(STANDBY_SLOT);

	if (!execution)
		return -EPROTO;
	standby_become(&execution->spawn, ipc_body_mutable(message, spawn));
}

static const dispatch_handler handlers_standby[IPC_TYPE_COUNT] = {
	[IPC_TYPE_spawn_stdio] = handle_attachment,
	[IPC_TYPE_spawn_image] = handle_attachment,
	[IPC_TYPE_spawn_code] = handle_attachment,
	[IPC_TYPE_spawn] = handle_spawn_in_it,
};

static int handle_spawn_standby(void *context, struct channel_message *message)
{
	const struct ipc_spawn_waits waits = { ipc_slot(message) };
	const bool lasts = init->factory->lasts;
	pid_t pid;

	if (standby_pid() != 0 || (!lasts && executions_used > 0))
		return -EPROTO;
	pid = watch_has_children() ? -EBUSY
				   : standby_fork(message->fd_count > 1 ? message->fds[1] : -1);
	/* After a fork each has to get its pages anew, the clock's too, which no request need wait
	 * for. */
	(void)now_ms();
	if (!executions[0].is_used)
		executions[0] = nothing;
	if (pid == 0)
		standby_wait(init, message->fds[0], handlers_standby);
	if (!lasts)
		return pid < 0 ? pid : 0;
	return pid < 0 ? report_gone(pid, 0) : send_report(IPC_TYPE_spawn_waits, &waits, -1);
}

/* How the process that waited is: it is the workload now, or gone. A request that it had read and
 * that nobody answers would wait for its deadline. */
static int hear_standby(void)
{
	struct execution *execution;
	struct workload workload;
	struct spawn_told told;

	const enum standby_state state = standby_look(&workload, &told);

	if (state == STANDBY_GONE)
		return init->factory->lasts ? report_gone(-ECHILD, 0) : -ECANCELED;
	if (state != STANDBY_RUNS)
		return 0;
	execution = prepare_execution(told.slot);
	if (!execution)
		return -EPROTO;
	execution->workload = workload;
	execution->done.taken_us = told.taken_us;
	return tell_begun(execution, told.stage, told.error);
}

/* An execution that the init does not know is the standby process's, now or soon. The process group
 * is of the own sandbox in any case, since no other process has a number in this pid namespace. */
static int handle_spawn_signal(void *context, struct channel_message *message)
{
	const struct execution *execution = find_execution(ipc_slot(message), 0);

	/* It keeps its number, also of the group, until it is reaped. ESRCH: it left the group. */
	if (!execution)
		standby_signal((int)ipc_body(message, spawn_signal)->signal);
	else if (execution->workload.pid != 0)
		(void)kill(-execution->workload.pid, (int)ipc_body(message, spawn_signal)->signal);
	return 0;
}

/* With cgroups the supervisor does the same to the leaf. */
static int handle_spawn_kill(void *context, struct channel_message *message)
{
	const struct execution *execution = find_execution(ipc_slot(message), 0);
	const pid_t first = execution ? execution->workload.pid : 0;

	if (!execution)
		standby_signal(SIGKILL);
	else if (execution->spawn.slot == STANDBY_SLOT)
		discard_standby();
	else if (!init->factory->lasts || (first != 0 && running == 1 && standby_pid() == 0))
		(void)watch_kill_all(0);
	else if (first != 0)
		watch_kill_family(first);
	return 0;
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_spawn_stdio] = handle_attachment,
	[IPC_TYPE_spawn_image] = handle_attachment,
	[IPC_TYPE_spawn_code] = handle_attachment,
	[IPC_TYPE_spawn_cgroup] = handle_attachment,
	[IPC_TYPE_spawn] = handle_spawn,
	[IPC_TYPE_spawn_standby] = handle_spawn_standby,
	[IPC_TYPE_spawn_standby_leaf] = handle_spawn_standby,
	[IPC_TYPE_spawn_signal] = handle_spawn_signal,
	[IPC_TYPE_spawn_kill] = handle_spawn_kill,
};

static int report_done(struct execution *execution, const struct rusage *usage)
{
	struct ipc_spawn_done *done = &execution->done;
	int error;

	is_ending = false;
	done->slot = execution->spawn.slot;
	done->cpu_us = used_us(usage);
	if ((uint64_t)usage->ru_maxrss * 1024 > done->peak_bytes)
		done->peak_bytes = (uint64_t)usage->ru_maxrss * 1024;
	observe_report(&execution->workload.observed, done);
	error = send_report(IPC_TYPE_spawn_done, done, -1);
	fd_replace(&spent, fd_take(&execution->workload.observed.listener));
	forget_execution(execution);
	return error;
}

/* The fallback's limits on memory and processes, of which `ended` was reaped just now. They are the
 * sandbox's: whatever runs is beyond them together. */
static void look_around(uint32_t ended)
{
	const struct plan_profile *profile = init->profile;
	/* A page of a file or segment that is mapped too counts twice rather than not at all. */
	const uint64_t files = watch_files(init->factory, profile).bytes + watch_ipc(profile->pids);
	struct watch_usage usage = watch_processes(files, profile->memory_bytes);

	for (uint32_t i = 0; i < executions_used; i++) {
		struct ipc_spawn_done *done = &executions[i].done;

		if (executions[i].workload.pid == 0)
			continue;
		if (!init->factory->lasts && usage.bytes > done->peak_bytes)
			done->peak_bytes = usage.bytes;
		done->over_memory |= usage.bytes > profile->memory_bytes;
		done->over_pids |= usage.tasks + ended >= profile->pids;
	}
	look_ms = now_ms() + watch_pause_ms(usage.bytes, profile->memory_bytes);
	if (usage.bytes > profile->memory_bytes) {
		(void)watch_kill_all(0);
		watch_clear_ipc();
	}
}

/* Until the next look; by no clock is it longer than between any two. */
static int left_ms(void)
{
	const int64_t left = look_ms - now_ms();

	return left <= 0 || left > WATCH_MOST_MS ? 0 : (int)left;
}

/* It ended before it had its code, or was discarded. */
static int end_waiting(struct execution *execution, const struct rusage *usage)
{
	discard_standby();
	forget_execution(execution);
	return report_gone(-ECHILD, used_us(usage));
}

/* A traced process stopped; the one that waits is traced, until it is found stopped and has its
 * code. */
static void hold_report(struct execution *execution, pid_t pid, int status)
{
	if (!execution || execution->spawn.slot != STANDBY_SLOT)
		gate_release(pid, status);
	else if (!gate_step(pid, status))
		discard_standby();
}

/* Its first process ended, which used this; see serve.h for what it left behind. */
static int end_execution(struct execution *execution, int status, const struct rusage *usage)
{
	execution->done.status = (uint32_t)status;
	execution->done.ended_us = clock_now_us();
	if (status != 0 && is_watched)
		look_around(1);
	execution->done.over_disk = status && watch_files(init->factory, init->profile).is_full;
	execution->workload.pid = 0;
	running--;
	is_ending = !init->factory->lasts;
	if (is_ending || (is_watched && running == 0 && standby_pid() == 0))
		execution->done.left_behind = watch_kill_all(!!find_execution(DISCARDED_SLOT, 0));
	return is_ending ? 0 : report_done(execution, usage);
}

/* Orphans come to PID 1. The report of a sandbox's one execution waits for all of them, since what
 * they used is its too, but not for one that does not die. */
static int reap_children(bool is_late)
{
	struct rusage usage;
	int error = 0, status;
	pid_t pid;

	while (!error && (pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		if (!WIFSTOPPED(status) && pid == standby_pid())
			error = hear_standby();
		struct execution *execution = find_execution(0, pid);

		if (WIFSTOPPED(status))
			hold_report(execution, pid, status);
		else if (!error && execution && execution->spawn.slot >= STANDBY_SLOT)
			error = end_waiting(execution, &usage);
		else if (!error && execution)
			error = end_execution(execution, status, &usage);
	}
	if (error || !is_ending || (pid == 0 && !is_late))
		return error;
	executions[0].done.is_whole = pid < 0;
	(void)getrusage(RUSAGE_CHILDREN, &usage); /* everything that was reaped */
	/* Our own end is waited for where nothing comes after; else the news may have the CPU. */
	return report_done(&executions[0], &usage) != 0 || init->factory->is_last;
}

/* All, so that a process that waits has them blocked as well; read is the end of a child. */
static int block_signals(void)
{
	sigset_t set;

	if (sigfillset(&set) != 0 || sigprocmask(SIG_BLOCK, &set, NULL) != 0 ||
	    sigemptyset(&set) != 0 || sigaddset(&set, SIGCHLD) != 0)
		return -errno;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int receive_message(void)
{
	enum ipc_error wrong;
	const int status = dispatch_one(&init->channel, &scratch.request, MSG_DONTWAIT, handlers,
					NULL, &wrong);

	has_rested = false;
	return status == 1 || status == -EAGAIN ? 0 : -ESHUTDOWN;
}

void serve_run(const struct init *own)
{
	const int children = block_signals();
	struct pollfd polls[4 + SANDBOX_EXECUTIONS_MAX + 1] = {
		{ .fd = own->channel.fd, .events = POLLIN },
		{ .fd = children, .events = POLLIN },
	};
	struct pollfd *listeners = polls + 4;
	int error;

	spawn_give_way();
	init = own;
	executions_max = own->factory->lasts ? SANDBOX_EXECUTIONS_MAX : 1;
	is_watched = own->factory->limits == LIMITS_FALLBACK;
	error = children < 0 || (watch_open() != 0 && is_watched) ? -1 : 0;
	while (!error) {
		const bool watch_now = is_watched && running > 0;
		/* No process runs, waits or is being made. */
		const bool can_rest = !has_rested && known == 0 && standby_pid() == 0 &&
				      !find_execution(STANDBY_SLOT, 0);
		struct signalfd_siginfo ignored;

		standby_poll(polls + 2);
		for (uint32_t i = 0; i < executions_used; i++)
			listeners[i] =
				(struct pollfd){ .fd = observe_fd(&executions[i].workload.observed),
						 .events = POLLIN };
		const int ready = poll(polls, 4 + executions_used,
				       is_ending    ? ENDING_MS
				       : spent >= 0 ? SPENT_MS
				       : watch_now  ? left_ms()
				       : can_rest   ? REST_MS
						    : -1);
		if (ready < 0 && errno != EINTR)
			break;
		if (ready == 0 && spent < 0 && can_rest) {
			memory_rest();
			has_rested = true;
		}
		if (ready == 0)
			fd_close(&spent);
		/* Not at each refused call: a flood of them would be a flood of looks. */
		if (watch_now && left_ms() == 0)
			look_around(0);
		for (uint32_t i = 0; i < executions_used; i++)
			observe_answer(&executions[i].workload.observed, init,
				       listeners[i].revents);
		error = hear_standby(); /* a message may be about what runs by now */
		if (polls[1].revents)
			(void)!read(children, &ignored, sizeof(ignored)); /* wait4 tells more */
		if (!error && (polls[1].revents || is_ending))
			error = reap_children(ready == 0);
		if (!error && polls[0].revents)
			error = receive_message();
	}
	_exit(0);
}
