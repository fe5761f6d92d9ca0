/* SPDX-License-Identifier: Apache-2.0 */
#include "run/execution.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/audit.h"
#include "base/gateway.h"
#include "base/reply.h"
#include "common/confine/cgroup.h"
#include "common/ipc/dispatch.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_gateway.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_posture.h"
#include "common/log.h"
#include "run/cgroup.h"
#include "run/denials.h"
#include "run/pool.h"
#include "run/posture.h"
#include "run/sandbox.h"
#include "run/standby.h"

/* How long an init may take to report after it was told to kill. */
#define GRACE_US 200000

/* As above, for a sandbox that is shared: if its init does not report, other executions end too. */
#define GRACE_SHARED_US 2000000

/* From a report until a sandbox is torn down: a client that asks again has sent its request by
 * then. */
#define TEARDOWN_PAUSE_US 1000

/* Least reported CPU time, for each second of the limit, of a process that SIGKILL ended at the
 * limit of CPU time. The kernel counts whole ticks, the report the exact time, and a virtual
 * machine is not always given its ticks. */
#define CPU_TOLD_US 750000

static bool is_live(const struct execution *execution)
{
	return execution->state == EXECUTION_LIVE || execution->state == EXECUTION_ENDING;
}

void execution_set_deadline(struct execution *execution, uint64_t deadline_us)
{
	execution->deadline_us = deadline_us;
	if (deadline_us < supervisor.due_us)
		supervisor.due_us = deadline_us;
}

struct execution *execution_find(const struct frontend *frontend, uint64_t request)
{
	FOR_EACH_EXECUTION (execution) {
		if (execution->frontend == frontend && execution->request == request &&
		    is_live(execution))
			return execution;
	}
	return NULL;
}

/* Reported, and its init is gone, if that is its own: only a cgroup may be left. */
static bool is_gone(const struct execution *execution)
{
	return execution->state == EXECUTION_DONE &&
	       (sandbox_lasts(execution->sandbox) || sandbox_is_over(execution->sandbox));
}

static bool clear_parts(const struct execution *execution)
{
	return sandbox_lasts(execution->sandbox)
		       ? cgroup_remove_leaf(execution->sandbox->slot, execution->leaf)
		       : sandbox_clear(execution->sandbox);
}

/* The slot is free once nothing of the sandbox, or of its part of one, is left. */
static void try_free(struct execution *execution)
{
	if (!is_gone(execution))
		return;
	if (!clear_parts(execution)) {
		execution_set_deadline(execution, clock_now_us() + SANDBOX_RETRY_US);
		return;
	}
	if (sandbox_lasts(execution->sandbox))
		execution_leave_leaf(execution->sandbox, execution->leaf);
	execution->state = EXECUTION_FREE;
	if (execution->slot < supervisor.slots_taken)
		supervisor.slots_taken = execution->slot;
	while (supervisor.slots_used > 0 &&
	       supervisor.executions[supervisor.slots_used - 1].state == EXECUTION_FREE)
		supervisor.slots_used--;
	if (supervisor.slots_used == 0)
		supervisor.due_us = UINT64_MAX;
}

/* A frontend that does not read until its channel is full is no longer served. */
static void send_frontend(const struct execution *execution, uint32_t type, const void *message,
			  const int *fds)
{
	struct frontend *frontend = execution->frontend;
	int error = 0;

	if (frontend && message)
		error = state_send(&frontend->channel, type, message, fds);
	if (!error || error == -EPIPE) /* gone, as its own channel will say, behind a goodbye */
		return;
	log_line("a frontend cannot be told of its execution: %s", errno_text(-error));
	if (!supervisor.is_service)
		state_note_fault();
	reply_give_up(frontend);
}

static void set_done(struct execution *execution)
{
	if (is_live(execution))
		supervisor.executions_live--;
	execution->state = EXECUTION_DONE;
}

/* Kill the processes that it left behind; in an ephemeral sandbox, end the sandbox. */
static void kill_rest(const struct execution *execution)
{
	if (!sandbox_lasts(execution->sandbox))
		sandbox_end(execution->sandbox);
	else if (supervisor.cgroup >= 0)
		cgroup_kill(execution->sandbox->slot, execution->leaf);
}

/* Its time in parts, but for the last, which ends with the report. Whatever an init says, each
 * begins where the one before ended, and none ends later than now. */
static void set_parts(const struct execution *execution, const struct ipc_spawn_done *from,
		      struct ipc_execution_done *done)
{
	const uint64_t now = clock_now_us();
	const uint64_t ends[] = { execution->asked_us, from->taken_us, from->executed_us,
				  from->ended_us };
	uint64_t *const parts[] = { &done->prepare_us, &done->sandbox_us, &done->start_us,
				    &done->run_us };
	uint64_t at = execution->started_us;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const uint64_t end = ends[i] < now ? ends[i] : now;

		*parts[i] = end > at ? end - at : 0;
		at += *parts[i];
	}
}

bool execution_tell_cable(struct execution *execution, const char *owner)
{
	const struct sandbox *sandbox = execution->sandbox;
	const struct plan_profile *profile = sandbox_profile(sandbox);
	const uint64_t before = execution->refusals;
	const bool is_over = execution->state == EXECUTION_DONE;
	const uint32_t from = execution->frontend ? execution->frontend->number : 0;
	struct ipc_cable_execution told = { execution->request, execution->asked_us, from, is_over,
					    sandbox->slot,      execution->slot,     "" };

	if (profile->network != PLAN_NETWORK_HOSTS || supervisor.gateway.fd < 0)
		return false;
	strncpy(told.owner, owner, sizeof(told.owner) - 1);
	execution->refusals = supervisor.counters[sandbox->slot];
	if (sandbox_lasts(sandbox) || profile->host_approval != PLAN_HOST_APPROVAL_NEVER ||
	    (is_over && execution->refusals != before))
		gateway_tell(IPC_TYPE_cable_execution, &told, NULL);
	return is_over && execution->refusals != before;
}

static void send_report(struct execution *execution, struct ipc_execution_done *done)
{
	const uint64_t parts_us =
		done->prepare_us + done->sandbox_us + done->start_us + done->run_us;
	/* An init that ends with its execution has killed all but itself before it reported: that
	 * can wait, since its end would only take the CPU from the news and the next request. */
	const bool is_killed = parts_us > 0 && !sandbox_lasts(execution->sandbox);

	done->request = execution->request;
	done->heard_us = execution->started_us;
	done->wall_us = clock_now_us() - execution->started_us;
	set_done(execution);
	done->has_refusals = execution_tell_cable(execution, "");
	done->is_offline = supervisor.is_offline && execution->sandbox->cable > 0;
	if (!is_killed)
		kill_rest(execution);
	send_frontend(execution, IPC_TYPE_profile_posture,
		      posture_news(execution->frontend, execution->sandbox->generation,
				   execution->sandbox->profile),
		      NULL);
	send_frontend(execution, IPC_TYPE_execution_done, done, NULL);
	if (is_killed && pool_may_hold(execution->sandbox->init.fd))
		execution_set_deadline(execution, clock_now_us() + TEARDOWN_PAUSE_US);
	else if (is_killed)
		kill_rest(execution);
	pool_reported();
	denials_note(execution, done);
	audit_execution_end(execution->id, execution->sandbox, done);
	try_free(execution);
}

/* Return the kernel's counts of an execution, or without cgroups the init's if they are whole. In a
 * shared sandbox only the CPU time is its own: memory is known if the sandbox had never taken as
 * much before. */
static struct cgroup_usage measure_usage(const struct execution *execution,
					 const struct ipc_spawn_done *from)
{
	const struct sandbox *sandbox = execution->sandbox;
	const struct cgroup_usage *before = &execution->before;
	struct cgroup_usage usage = { .cpu_us = from->is_whole ? from->cpu_us : 0,
				      .peak_bytes = from->is_whole ? from->peak_bytes : 0 };

	if (supervisor.cgroup < 0)
		return usage;
	cgroup_read(sandbox->slot, &usage);
	if (!sandbox_lasts(sandbox))
		return usage;
	usage.cpu_us = cgroup_read_cpu(sandbox->slot, execution->leaf);
	usage.oom_kills -= before->oom_kills;
	usage.forks_refused -= before->forks_refused;
	if (usage.peak_bytes <= before->peak_bytes)
		usage.peak_bytes = 0;
	return usage;
}

static void report_internal(struct execution *execution, uint32_t stage, uint32_t error)
{
	struct ipc_execution_done done = { .verdict = VERDICT_INTERNAL,
					   .stage = stage,
					   .error = error };
	static const struct ipc_spawn_done nothing; /* it could not say what it counted */
	const struct cgroup_usage usage = measure_usage(execution, &nothing);

	posture_fail(execution, stage, error);
	/* If it was killed, that is why nothing else was said. */
	if (execution->verdict != VERDICT_EXITED || usage.oom_kills > 0)
		done = (struct ipc_execution_done){ .verdict = execution->verdict,
						    .signal = SIGKILL };
	if (done.verdict == VERDICT_EXITED)
		done.verdict = VERDICT_MEMORY;
	done.cpu_us = usage.cpu_us;
	done.peak_bytes = usage.peak_bytes;
	(void)denials_put(&done, &nothing, &usage); /* cannot fail: there are no records */
	send_report(execution, &done);
}

static uint32_t judge_signal(const struct execution *execution, int signal,
			     const struct ipc_spawn_done *from)
{
	const uint64_t cpu_seconds = sandbox_profile(execution->sandbox)->cpu_seconds;

	if (signal == SIGSYS)
		return VERDICT_DENIED;
	if (cpu_seconds > 0 &&
	    (signal == SIGXCPU || (signal == SIGKILL && from->cpu_us >= cpu_seconds * CPU_TOLD_US)))
		return VERDICT_CPU_TIME;
	return signal == SIGXFSZ || from->over_disk ? VERDICT_DISK : VERDICT_SIGNALLED;
}

static uint32_t judge_end(const struct execution *execution, const struct ipc_spawn_done *from,
			  const struct cgroup_usage *usage)
{
	const int status = (int)from->status;

	if (execution->verdict != VERDICT_EXITED)
		return execution->verdict;
	if (from->over_memory || (usage->oom_kills > 0 && status != 0))
		return VERDICT_MEMORY;
	if ((from->over_pids || usage->forks_refused > 0) && status != 0)
		return VERDICT_PIDS;
	if (WIFSIGNALED(status))
		return judge_signal(execution, WTERMSIG(status), from);
	return from->over_disk ? VERDICT_DISK : VERDICT_EXITED;
}

static bool runs_in(const struct execution *execution, const struct sandbox *sandbox)
{
	return is_live(execution) && execution->sandbox == sandbox;
}

/* The one of this slot that runs in the init's sandbox, or NULL. */
static struct execution *find_in(const struct sandbox *sandbox, uint32_t slot)
{
	struct execution *execution = slot < EXECUTIONS_MAX ? &supervisor.executions[slot] : NULL;

	return execution && runs_in(execution, sandbox) ? execution : NULL;
}

static int handle_posture(void *context, struct channel_message *message)
{
	struct execution *execution = find_in(context, ipc_body(message, posture)->slot);
	struct ipc_execution_done nothing = { .verdict = VERDICT_INTERNAL, .stage = STAGE_PROBE };

	if (!execution || execution->probe == PROBE_NONE)
		return -EPROTO;
	if (!posture_take(execution, &ipc_body(message, posture)->measured))
		send_report(execution, &nothing);
	return 0;
}

/* Report as failed an execution whose standby process ended on its way to the exec. */
static void lose_given(const struct sandbox *sandbox)
{
	FOR_EACH_EXECUTION (execution) {
		if (runs_in(execution, sandbox) && execution->is_given)
			report_internal(execution, STAGE_CHANNEL, EPIPE);
	}
}

static int handle_spawn_done(void *context, struct channel_message *message)
{
	const struct ipc_spawn_done *from = ipc_body(message, spawn_done);
	struct execution *execution = find_in(context, from->slot);
	const int status = (int)from->status;
	struct ipc_execution_done done;
	struct cgroup_usage usage;

	if (from->slot == STANDBY_SLOT) {
		if (!standby_gone(context, from))
			lose_given(context);
		return 0;
	}
	if (!execution)
		return -EPROTO;
	if (from->stage != STAGE_NONE) {
		report_internal(execution, from->stage, from->error);
		return 0;
	}
	if (execution->probe != PROBE_NONE) /* it has to come first */
		return -EPROTO;
	usage = measure_usage(execution, from);
	done = (struct ipc_execution_done){ .cpu_us = usage.cpu_us,
					    .peak_bytes = usage.peak_bytes };
	set_parts(execution, from, &done);
	if (!denials_put(&done, from, &usage))
		return -EPROTO;
	done.left_behind =
		sandbox_lasts(context) && supervisor.cgroup >= 0
			? cgroup_count(supervisor.cgroup, execution->sandbox->slot, execution->leaf)
			: from->left_behind;
	done.verdict = judge_end(execution, from, &usage);
	done.exit_code = WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 0;
	done.signal = WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0;
	send_report(execution, &done);
	return 0;
}

static int handle_init_failed(void *context, struct channel_message *message)
{
	execution_lose_sandbox(context, ipc_body(message, init_failed)->stage,
			       ipc_body(message, init_failed)->error);
	return 0;
}

static int handle_spawned_tty(void *context, struct channel_message *message)
{
	const struct execution *execution = find_in(context, ipc_body(message, spawned_tty)->slot);
	struct ipc_execution_tty tty = { .output_bytes = sandbox_profile(context)->output_bytes,
					 .log_bytes = sandbox_profile(context)->log_bytes,
					 .wall_ms = execution ? execution_left_ms(execution) : 0 };

	if (!execution)
		return -EPROTO;
	tty.request = execution->request;
	memcpy(tty.sandbox, ((struct sandbox *)context)->persistent.id, sizeof(tty.sandbox));
	send_frontend(execution, IPC_TYPE_execution_tty, &tty, message->fds);
	return 0;
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_init_failed] = handle_init_failed, [IPC_TYPE_network_socket] = gateway_make,
	[IPC_TYPE_posture] = handle_posture,         [IPC_TYPE_spawned_tty] = handle_spawned_tty,
	[IPC_TYPE_spawn_waits] = standby_ready,      [IPC_TYPE_spawn_done] = handle_spawn_done,
};

/* Return the number of the first execution in it; 0: none runs. */
static uint64_t number_in(const struct sandbox *sandbox)
{
	FOR_EACH_EXECUTION (execution) {
		if (runs_in(execution, sandbox))
			return execution->id;
	}
	return 0;
}

uint32_t execution_count(const struct sandbox *sandbox)
{
	uint32_t count = 0;

	FOR_EACH_EXECUTION (execution)
		count += runs_in(execution, sandbox);
	return count;
}

/* An init that says nothing more, or something wrong, is at its end. */
static void on_init_message(void *context)
{
	static struct channel_message message;
	struct sandbox *sandbox = context;
	enum ipc_error wrong = IPC_OK;
	const int status =
		dispatch_one(&sandbox->init, &message, MSG_DONTWAIT, handlers, sandbox, &wrong);

	if (status == 1 || status == -EAGAIN)
		return;
	if (status == -EPROTO)
		audit_violation("init", number_in(sandbox), ipc_error_text(wrong));
	loop_close(&sandbox->init_watch, &sandbox->init.fd);
	/* Before the factory's answer there may never have been an init: the answer says why. */
	if (sandbox->has_answer)
		execution_lose_sandbox(sandbox, STAGE_CHANNEL, EPIPE);
}

void execution_kill(struct execution *execution, uint32_t verdict)
{
	const struct ipc_spawn_kill kill = { .slot = execution->slot };

	if (execution->state != EXECUTION_LIVE)
		return;
	execution->state = EXECUTION_ENDING;
	execution->verdict = verdict;
	execution_set_deadline(
		execution,
		clock_now_us() + (sandbox_lasts(execution->sandbox) ? GRACE_SHARED_US : GRACE_US));
	if (supervisor.cgroup >= 0)
		cgroup_kill(execution->sandbox->slot, execution->leaf);
	/* An init that cannot take it is killed when the grace is over. */
	(void)state_send(&execution->sandbox->init, IPC_TYPE_spawn_kill, &kill, NULL);
}

void execution_signal(const struct execution *execution, uint32_t signal)
{
	const struct ipc_spawn_signal message = { execution->slot, signal };

	if (execution->state != EXECUTION_LIVE)
		return;
	/* A frontend that sends more than an init takes loses signals of its own. An init that
	 * takes none any more is at its end. */
	(void)state_send(&execution->sandbox->init, IPC_TYPE_spawn_signal, &message, NULL);
}

void execution_abandon(const struct frontend *frontend)
{
	FOR_EACH_EXECUTION (execution) {
		if (execution->frontend != frontend)
			continue;
		execution->frontend = NULL;
		execution_kill(execution, VERDICT_CLIENT_GONE);
	}
}

/* Reported, and its sandbox is to be torn down. */
static bool is_left(const struct execution *execution)
{
	return execution->state == EXECUTION_DONE && !sandbox_lasts(execution->sandbox) &&
	       execution->sandbox->state == SANDBOX_LIVE;
}

static void on_sandbox_over(const struct sandbox *sandbox)
{
	if (sandbox_lasts(sandbox)) /* they are looked at when all of them are */
		return;
	if (sandbox->ephemeral.execution && is_left(sandbox->ephemeral.execution))
		kill_rest(sandbox->ephemeral.execution); /* it ended by itself */
	if (sandbox->ephemeral.execution)
		try_free(sandbox->ephemeral.execution);
	else
		pool_clear();
}

void execution_lose_sandbox(struct sandbox *sandbox, uint32_t stage, uint32_t error)
{
	if (!sandbox_lasts(sandbox)) {
		if (!sandbox->ephemeral.execution)
			pool_lost(sandbox, stage, error);
		else if (is_live(sandbox->ephemeral.execution))
			report_internal(sandbox->ephemeral.execution, stage, error);
		else
			on_sandbox_over(sandbox);
		return;
	}
	FOR_EACH_EXECUTION (execution) {
		if (runs_in(execution, sandbox))
			report_internal(execution, stage, error);
	}
	standby_end_sandbox(sandbox);
}

const struct sandbox_handlers execution_handlers = {
	.on_message = on_init_message,
	.on_lost = execution_lose_sandbox,
	.on_over = on_sandbox_over,
};

void execution_kill_all(const struct sandbox *sandbox, uint32_t verdict)
{
	FOR_EACH_EXECUTION (execution) {
		if (execution->sandbox == sandbox)
			execution_kill(execution, verdict);
	}
}

/* Is time an event for it? */
static bool is_waiting(const struct execution *execution)
{
	return is_live(execution) || is_gone(execution) || is_left(execution);
}

static uint64_t find_earliest(void)
{
	uint64_t earliest = UINT64_MAX;

	FOR_EACH_EXECUTION (execution) {
		if (is_waiting(execution) && execution->deadline_us < earliest)
			earliest = execution->deadline_us;
	}
	return earliest;
}

/* The time may be that of an execution that has ended, and so too early. That costs one look in
 * vain; a look at all executions in each turn would slow down each of them. */
uint64_t execution_deadline_us(void)
{
	return supervisor.due_us;
}

uint32_t execution_longest_wait_ms(void)
{
	const uint64_t now = clock_now_us();
	const uint64_t deadline = find_earliest();

	return deadline > now && deadline != UINT64_MAX ? (uint32_t)((deadline - now) / 1000) : 0;
}

void execution_expire(void)
{
	const uint64_t now = clock_now_us();

	if (supervisor.due_us > now)
		return;
	FOR_EACH_EXECUTION (execution) {
		if (!is_waiting(execution) || execution->deadline_us > now)
			continue;
		if (execution->state == EXECUTION_LIVE)
			execution_kill(execution, VERDICT_TIMEOUT);
		else if (execution->state == EXECUTION_ENDING)
			execution_lose_sandbox(execution->sandbox, STAGE_CHANNEL, ETIMEDOUT);
		else if (is_left(execution))
			kill_rest(execution);
		else
			try_free(execution);
	}
	supervisor.due_us = find_earliest();
}

void execution_report_stop(void)
{
	FOR_EACH_EXECUTION (execution) {
		if (!is_live(execution))
			continue;
		execution->verdict = VERDICT_CANCELLED;
		report_internal(execution, STAGE_NONE, 0);
	}
}

/* Record the end of a killed execution that no frontend can be told of any more. */
static void note_killed(const struct execution *execution)
{
	const struct ipc_execution_done done = {
		.verdict = execution->verdict == VERDICT_EXITED ? VERDICT_CLIENT_GONE
								: execution->verdict,
		.signal = SIGKILL,
		.wall_us = clock_now_us() - execution->started_us,
	};

	audit_execution_end(execution->id, execution->sandbox, &done);
}

bool execution_end_all(void)
{
	bool is_over = true;

	FOR_EACH_EXECUTION (execution) {
		if (execution->state == EXECUTION_FREE)
			continue;
		if (is_live(execution))
			note_killed(execution);
		set_done(execution);
		kill_rest(execution);
		try_free(execution);
		is_over = is_over && execution->state == EXECUTION_FREE;
	}
	return is_over;
}
