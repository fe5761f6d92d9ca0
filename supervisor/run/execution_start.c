/* SPDX-License-Identifier: Apache-2.0
 *
 * The beginning of an execution: what it needs is made, what is asked of it waits in its init's
 * channel, and then the factory is asked for the init.
 */
#include <errno.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_init.h"
#include "run/cgroup.h"
#include "run/execution.h"
#include "run/pool.h"
#include "run/posture.h"
#include "run/sandbox.h"
#include "run/standby.h"

/* From the end of an execution to a scan: longer than a client takes for the next call of a series,
 * with which msp-layers would compete. Who asks for what is noted has it noted at once. */
#define SCAN_SETTLED_US 300000

static struct execution *find_free(void)
{
	for (uint32_t i = supervisor.slots_taken; i < EXECUTIONS_MAX; i++) {
		if (supervisor.executions[i].state == EXECUTION_FREE) {
			supervisor.slots_taken = supervisor.executions[i].slot = i;
			return &supervisor.executions[i];
		}
	}
	return NULL;
}

/* Reserve a cgroup leaf of a persistent sandbox; -EBUSY when none is free. */
static int join_leaf(struct sandbox *sandbox, uint32_t *ret_leaf)
{
	struct persistent *own = &sandbox->persistent;

	*ret_leaf = (uint32_t)__builtin_ctz(~own->leaves); /* they are fewer than its bits */
	if (*ret_leaf >= SANDBOX_EXECUTIONS_MAX)
		return -EBUSY;
	own->leaves |= 1U << *ret_leaf;
	own->executions++;
	sandbox_stir(sandbox);
	return 0;
}

void execution_leave_leaf(struct sandbox *sandbox, uint32_t leaf)
{
	struct persistent *own = &sandbox->persistent;

	own->leaves &= ~(1U << leaf);
	own->executions--;
	own->idle_us = clock_now_us();
	own->is_changed = true;
	if (own->idle_us + SCAN_SETTLED_US < own->scan.due_us)
		own->scan.due_us = own->idle_us + SCAN_SETTLED_US;
	sandbox_stir(sandbox);
	standby_rest(sandbox);
}

/* Descriptors of a start; everything left in it is closed at the end of it. */
struct parts {
	struct standby_parts given; /* by a standby process, or made in its place */
	struct sandbox_parts sandbox;
	struct sandbox *ready; /* a ready sandbox */
	bool has_joined;       /* a persistent sandbox */
	bool is_taken;         /* the standby process, with its leaf: */
	bool is_fed;           /* an interpreter */
};

static void close_parts(struct parts *parts)
{
	fd_close_all(parts->given.stdio_ours, 3);
	fd_close_all(parts->given.stdio_workload, 3);
	fd_close(&parts->sandbox.init_end);
	fd_close(&parts->sandbox.cgroup);
	fd_close(&parts->sandbox.leaf);
	parts->ready = NULL;
	parts->is_taken = parts->is_fed = false;
}

/* Make the pipes of a request that has streams, if no standby process brought them. */
static int make_streams(const struct request *request, struct parts *parts)
{
	return request->spawn->use_tty || parts->given.stdio_ours[0] >= 0
		       ? 0
		       : sandbox_make_pipes(parts->given.stdio_ours, parts->given.stdio_workload);
}

static bool is_running(const struct sandbox *sandbox)
{
	return sandbox->state == SANDBOX_LIVE;
}

/* In a sandbox that lives there is only its leaf to be made. */
static int make_leaf(struct execution *execution, struct parts *parts)
{
	const uint32_t slot = execution->sandbox->slot;

	if (supervisor.cgroup < 0)
		return 0;
	cgroup_read(slot, &execution->before);
	parts->sandbox.leaf = cgroup_add_leaf(slot, execution->leaf);
	return parts->sandbox.leaf < 0 ? parts->sandbox.leaf : 0;
}

static int make_parts(struct execution *execution, struct parts *parts)
{
	int error = 0;

	if (sandbox_lasts(execution->sandbox)) {
		error = join_leaf(execution->sandbox, &execution->leaf);
		parts->has_joined = !error;
	}
	if (!error && !parts->is_taken)
		error = is_running(execution->sandbox)
				? make_leaf(execution, parts)
				: sandbox_make(execution->sandbox, &parts->sandbox);
	return error ? error : posture_check_limits(execution);
}

static void unmake_parts(struct execution *execution, struct parts *parts)
{
	struct sandbox *sandbox = execution->sandbox;

	if (!sandbox)
		return;
	if (!is_running(sandbox))
		sandbox_unmake(sandbox, &parts->sandbox);
	else if (!sandbox_lasts(sandbox))
		pool_drop(sandbox); /* with what may run in it by now */
	else if (parts->sandbox.leaf >= 0 && !parts->is_taken)
		(void)cgroup_remove_leaf(sandbox->slot, execution->leaf); /* unused */
	if (parts->has_joined)
		execution_leave_leaf(sandbox, execution->leaf);
	parts->has_joined = false;
}

/* Or the process that waits in its place, which has its streams and hears of one execution. All of
 * it waits in the channel before the init exists. */
static int ask_init(struct execution *execution, const struct request *request, int code,
		    const struct parts *parts)
{
	static struct ipc_spawn_code where;
	struct sandbox *sandbox = execution->sandbox;
	const struct channel *init = sandbox->standby.fd >= 0 ? &sandbox->standby : &sandbox->init;
	const uint32_t slot = init == &sandbox->standby ? STANDBY_SLOT : execution->slot;
	const struct sandbox_given given = { slot,
					     parts->given.stdio_workload,
					     code,
					     &where,
					     request->is_file ? supervisor.file_image : -1,
					     parts->sandbox.leaf };
	int error;

	request->spawn->slot = execution->slot;
	request->spawn->probe = execution->probe;
	request->spawn->feed = parts->is_fed ? FEED_TAKE : FEED_NONE;
	where.slot = slot;
	if (code >= 0)
		strncpy(where.path, request->code_path, sizeof(where.path) - 1);
	execution->asked_us = clock_now_us();
	(void)execution_tell_cable(execution, request->owner); /* at the begin there are none */
	error = sandbox_give(init, &given);
	if (!error)
		error = state_send(init, IPC_TYPE_spawn, request->spawn, NULL);
	execution->is_given = !error && init == &sandbox->standby;
	fd_close(&sandbox->standby.fd); /* it is for one */
	return error;
}

uint64_t execution_left_ms(const struct execution *execution)
{
	const uint64_t now = clock_now_us();

	if (execution->deadline_us == UINT64_MAX)
		return 0;
	return execution->deadline_us > now ? (execution->deadline_us - now + 999) / 1000 : 1;
}

uint64_t execution_extend(struct execution *execution, uint32_t wall_ms)
{
	const uint64_t most_ms = sandbox_profile(execution->sandbox)->wall_max_ms;
	const uint64_t last_us = execution->started_us + most_ms * 1000;
	const uint64_t wanted_us = clock_now_us() + (uint64_t)wall_ms * 1000;
	const uint64_t deadline_us = wanted_us < last_us ? wanted_us : last_us;

	if (execution->state == EXECUTION_LIVE && deadline_us > execution->deadline_us)
		execution->deadline_us = deadline_us;
	return execution_left_ms(execution);
}

static int send_started(const struct execution *execution, const struct request *request,
			const struct parts *parts)
{
	const struct sandbox *sandbox = execution->sandbox;
	struct ipc_execution_started started = {
		.request = execution->request,
		.output_bytes = sandbox_profile(execution->sandbox)->output_bytes,
		.log_bytes = sandbox_profile(execution->sandbox)->log_bytes,
		.wall_ms = execution_left_ms(execution),
	};

	if (sandbox_lasts(sandbox)) {
		memcpy(started.sandbox, sandbox->persistent.id, sizeof(started.sandbox));
		memcpy(started.profile, sandbox->persistent.meta->profile, sizeof(started.profile));
	}
	if (request->spawn->use_tty) /* execution_tty comes when the terminal is there */
		return 0;
	return state_send(&execution->frontend->channel, IPC_TYPE_execution_started, &started,
			  parts->given.stdio_ours);
}

/* Start it in a ready sandbox. -ENOENT: there is none, or one of several has ended; nothing has run
 * in that, since the spawn is the last that it is sent. */
static int enter_ready(struct execution *execution, const struct request *request, int code,
		       struct parts *parts)
{
	struct sandbox *sandbox = parts->ready;
	int error;

	if (!sandbox)
		return -ENOENT;
	execution->sandbox = sandbox;
	error = posture_check_limits(execution);
	if (!error)
		error = sandbox->init.fd < 0 ? -EPIPE : ask_init(execution, request, code, parts);
	if (!supervisor.is_for_one && error)
		error = -ENOENT;
	/* The factory's answer or its channel says why the only sandbox ended, or has said so. */
	if (!error || error == -EPIPE)
		return 0;
	execution->sandbox = NULL;
	pool_drop(sandbox);
	close_parts(parts);
	return error;
}

/* Everything but asking the factory: nothing runs yet that would have to be undone. -ECONNRESET:
 * what was to run it has ended. */
static int enter_own(struct execution *execution, const struct request *request, int code,
		     struct parts *parts)
{
	int error;

	execution->sandbox = request->sandbox ? request->sandbox : sandbox_ephemeral();
	if (!is_running(execution->sandbox))
		sandbox_renew(execution->sandbox, request->profile);
	error = make_streams(request, parts);
	if (!error)
		error = make_parts(execution, parts);
	if (!error && !is_running(execution->sandbox))
		error = sandbox_watch(execution->sandbox);
	if (!error)
		error = ask_init(execution, request, code, parts);
	return error && parts->is_taken && !parts->is_fed ? -ECONNRESET : error;
}

static int prepare_parts(struct execution *execution, const struct request *request, int code,
			 struct parts *parts)
{
	const bool is_taken = parts->is_taken;
	int error = make_streams(request, parts);

	execution->sandbox = NULL;
	execution->before = parts->given.before;
	if (!error)
		error = enter_ready(execution, request, code, parts);
	if (error == -ENOENT)
		error = enter_own(execution, request, code, parts);
	if (!error)
		error = send_started(execution, request, parts);
	if (error) {
		unmake_parts(execution, parts);
		close_parts(parts);
	}
	if (is_taken)
		standby_taken(request, !error);
	return error;
}

static void launch_init(struct execution *execution, const struct parts *parts)
{
	struct sandbox *sandbox = execution->sandbox;

	execution->state = EXECUTION_LIVE;
	execution_set_deadline(execution, execution->deadline_us);
	supervisor.executions_live++;
	supervisor.executions_started += execution->frontend != NULL;
	if (execution->slot >= supervisor.slots_used)
		supervisor.slots_used = execution->slot + 1;
	pool_begun();
	if (!sandbox_lasts(sandbox))
		sandbox->ephemeral.execution = execution;
	if (!is_running(sandbox)) {
		execution->asked_us = clock_now_us();
		sandbox_launch(sandbox, execution->probe, &parts->sandbox);
	} else if (sandbox->ephemeral.lost_stage != STAGE_NONE) {
		execution_lose_sandbox(sandbox, sandbox->ephemeral.lost_stage,
				       sandbox->ephemeral.lost_error);
	}
}

/* In its sandbox, with what that was begun with, or a sandbox that was made ahead. */
static void take_waiting(const struct request *request, uint32_t probe, struct parts *parts)
{
	if (request->sandbox) {
		parts->is_taken = standby_take(request, probe, &parts->given);
		parts->is_fed = parts->given.stdio_workload[0] >= 0;
		parts->sandbox.leaf = parts->given.leaf;
	} else if (supervisor.is_for_one || (!request->spawn->use_tty && probe == PROBE_NONE)) {
		parts->ready = pool_take(request->profile, &parts->sandbox.leaf);
		if (parts->ready)
			sandbox_take_streams(parts->ready, parts->given.stdio_ours);
	}
}

int execution_begin(struct frontend *frontend, const struct request *request, int code)
{
	struct execution *execution = find_free();
	struct parts parts = { .given = STANDBY_PARTS_NONE, .sandbox = SANDBOX_PARTS_NONE };
	int error;

	if (!execution)
		return -EAGAIN;
	*execution = (struct execution){ .state = EXECUTION_FREE,
					 .slot = execution->slot,
					 .frontend = frontend,
					 .request = request->number,
					 .id = request->id,
					 .probe = posture_probe(frontend, request->profile),
					 .verdict = VERDICT_EXITED,
					 .started_us = request->heard_us,
					 .deadline_us = UINT64_MAX };
	if (request->timeout_ms)
		execution->deadline_us = request->heard_us + request->timeout_ms * UINT64_C(1000);
	take_waiting(request, execution->probe, &parts);
	error = prepare_parts(execution, request, code, &parts);
	if ((error == -EMFILE || error == -ENFILE) && pool_bytes() > 0) {
		pool_drop_all(); /* ready sandboxes hold some of them */
		error = prepare_parts(execution, request, code, &parts);
	}
	if (error == -ECONNRESET)
		error = prepare_parts(execution, request, code, &parts);
	if (error)
		return error;
	launch_init(execution, &parts);
	if (request->sandbox)
		standby_note(request);
	close_parts(&parts);
	return 0;
}
