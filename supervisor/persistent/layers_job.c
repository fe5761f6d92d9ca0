/* SPDX-License-Identifier: Apache-2.0 */
#include "persistent/layers_job.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/audit.h"
#include "base/reply.h"
#include "common/fd.h"
#include "common/ipc/dispatch.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_layers.h"
#include "common/ipc/workspace_mode.h"
#include "common/kernel.h"
#include "run/sandbox.h"
#include "stewards/store/store.h"

enum job_state {
	JOB_FREE,
	JOB_LIVE,
	JOB_OVER, /* told; waits for its process to be gone */
};

struct layers_job {
	enum job_state state;
	uint32_t slot; /* in the factory's messages */
	uint32_t operation;
	struct sandbox *sandbox; /* NULL: of none */
	struct frontend *frontend;
	uint64_t request;
	uint64_t began_us; /* a scan: real clock */
	struct channel channel;
	int pidfd; /* -1 until the factory answered */
	bool has_answer;
	struct store_merge merge; /* MERGE */
	struct loop_watch watch;
	struct loop_watch pid_watch;
};

static struct layers_job jobs[LAYERS_JOBS_MAX];
static struct layers_job *remover; /* until its process has ended: it answers before it removes */
static bool is_more;               /* to be removed, that came meanwhile */

static bool is_reader(uint32_t operation)
{
	return operation == LAYERS_DIFF || operation == LAYERS_PREVIEW;
}

bool layers_job_writes_host(const struct layers_job *job)
{
	return job && (job->operation == LAYERS_APPLY || job->operation == LAYERS_UNDO ||
		       job->operation == LAYERS_RECOVER || job->operation == LAYERS_PREPARE);
}

bool layers_job_is_writing_host(void)
{
	FOR_EACH (layers_job, job, jobs, LAYERS_JOBS_MAX) {
		if (job->state == JOB_LIVE && layers_job_writes_host(job))
			return true;
	}
	return false;
}

bool layers_job_is_long(const struct layers_job *job)
{
	return job && job->operation != LAYERS_SCAN && job->operation != LAYERS_RECOVER;
}

/* --- what it is handed ------------------------------------------------------------------------ */

/* Takes the descriptor; -ENOENT in its place is none. */
static int hand_fd(const struct layers_job *job, uint32_t role, int fd)
{
	const struct ipc_layers_directory message = { .role = role };
	const int error =
		fd < 0 ? fd : state_send(&job->channel, IPC_TYPE_layers_directory, &message, &fd);

	fd_close(&fd);
	return error;
}

static int hand_chain(const struct layers_job *job, uint32_t role, uint32_t highest)
{
	const struct store_meta *meta = job->sandbox->persistent.meta;
	int error = 0;

	for (uint32_t layer = highest; layer != STORE_NO_LAYER && !error;
	     layer = meta->layers[layer].parent)
		error = hand_fd(job, role, store_layer(meta, layer));
	return error;
}

/* Hand over the layers that the merge plan names: all below the upper. */
static int hand_merged(struct layers_job *job)
{
	const struct persistent *own = &job->sandbox->persistent;
	const struct store_meta *meta = own->meta;
	const int error = store_merge_plan(meta, &job->merge)
				  ? hand_chain(job, LAYERS_LAYER, meta->layers[meta->upper].parent)
				  : -ENOENT;

	return error ? error : hand_fd(job, LAYERS_TARGET, store_merge_target(own->directory));
}

static int hand_all(struct layers_job *job, const struct layers_ask *ask)
{
	const struct persistent *own = &job->sandbox->persistent;
	int error = 0;

	if (job->operation == LAYERS_MERGE)
		return hand_merged(job);
	if (own->hosts[0] >= 0 && own->meta->workspace_mode == WORKSPACE_COPY)
		error = state_send(&job->channel, IPC_TYPE_layers_host,
				   &(struct ipc_layers_host){ 0 }, &own->hosts[0]);
	if (!error)
		error = hand_chain(job, LAYERS_LAYER, own->meta->upper);
	if (!error && ask->changes && ask->changes->flags & CHANGES_FROM_CHECKPOINT)
		error = hand_chain(job, LAYERS_SINCE, ask->since);
	if (!error && job->operation != LAYERS_SCAN && job->operation != LAYERS_DIFF)
		error = hand_fd(job, LAYERS_JOURNAL, store_journal(own->directory));
	return error;
}

static int ask_for(const struct layers_job *job, const struct layers_ask *ask)
{
	static struct ipc_layers_do message;
	const struct ipc_changes_start *changes = ask->changes;
	const int fds[] = { ask->chosen < 0 ? supervisor.nothing : ask->chosen,
			    ask->named && *ask->named > 0 ? *ask->named : supervisor.nothing };

	memset(&message, 0, sizeof(message));
	memcpy(message.schema, ipc_schema_hash, sizeof(message.schema));
	message.operation = job->operation;
	message.since_us = ask->since_us;
	if (job->sandbox) {
		const struct persistent *own = &job->sandbox->persistent;

		(void)snprintf(message.name, sizeof(message.name), "%s",
			       own->meta->name[0] ? own->meta->name : own->id);
		memcpy(message.workspace, own->meta->workspace, sizeof(message.workspace));
	}
	if (changes) {
		message.conflict = changes->conflict;
		message.flags = changes->flags;
		message.skip = changes->skip;
		message.most = changes->most;
		memcpy(message.expected, changes->expected, sizeof(message.expected));
	}
	if (ask->profile && ask->profile->held_size <= sizeof(message.held)) {
		message.held_size = ask->profile->held_size;
		memcpy(message.held, plan_bytes(&supervisor.plan, ask->profile->held),
		       message.held_size);
	}
	return state_send(&job->channel, IPC_TYPE_layers_do, &message, fds);
}

/* --- how it ends ------------------------------------------------------------------------------ */

static void try_free(struct layers_job *job)
{
	if (job->state != JOB_OVER || job->pidfd >= 0 ||
	    (!job->has_answer && supervisor.factory.fd >= 0))
		return;
	job->state = JOB_FREE;
	if (job != remover)
		return;
	remover = NULL;
	if (is_more)
		layers_job_empty_trash();
}

static void send_frontend(const struct layers_job *job, const struct ipc_layers_done *from)
{
	struct ipc_changes_done done = { .request = job->request,
					 .error = from->error,
					 .step = from->step,
					 .conflicts = from->conflicts,
					 .held = from->held,
					 .applied = from->applied,
					 .total = from->total,
					 .ignored = from->ignored };

	memcpy(done.digest, from->digest, sizeof(done.digest));
	if (job->operation == LAYERS_APPLY || job->operation == LAYERS_UNDO)
		audit_apply_end(job->sandbox->persistent.id, &done);
	/* A frontend that does not read until its channel is full is no longer served. */
	if (job->frontend && reply_send(job->frontend, IPC_TYPE_changes_done, &done) == -EAGAIN)
		reply_give_up(job->frontend);
}

static void end_work(struct layers_job *job, const struct ipc_layers_done *done)
{
	struct sandbox *sandbox = job->sandbox;
	struct persistent *own = &sandbox->persistent;

	own->jobs--;
	own->is_changed = true;
	if (own->writer == job)
		own->writer = NULL;
	if (job->operation == LAYERS_APPLY || job->operation == LAYERS_UNDO)
		own->is_interrupted = store_is_interrupted(own->directory); /* killed */
	if (job->operation == LAYERS_SCAN)
		sandbox_scanned(sandbox, job->began_us, done);
	/* A sandbox that was used meanwhile is merged another time. */
	if (job->operation == LAYERS_MERGE && !done->error && sandbox->state == SANDBOX_COLD)
		(void)store_merge_done(own->directory, own->meta, &job->merge, done->bytes,
				       done->inodes);
}

static void finish_job(struct layers_job *job, const struct ipc_layers_done *done)
{
	if (job->state != JOB_LIVE)
		return;
	job->state = JOB_OVER;
	loop_close(&job->watch, &job->channel.fd);
	if (job->sandbox) {
		send_frontend(job, done);
		end_work(job, done);
	}
	try_free(job);
}

static void fail_job(struct layers_job *job, uint32_t error)
{
	const struct ipc_layers_done done = { .error = error, .step = CHANGES_STEP_HELPER };

	finish_job(job, &done);
	(void)kernel_pidfd_send_signal(job->pidfd, SIGKILL); /* ESRCH, EBADF: it is gone */
}

static int handle_done(void *context, struct channel_message *message)
{
	finish_job(context, ipc_body(message, layers_done));
	return 0;
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_layers_done] = handle_done,
};

static void on_channel(void *context)
{
	static struct channel_message message;
	struct layers_job *job = context;
	enum ipc_error wrong = IPC_OK;
	const int status =
		dispatch_one(&job->channel, &message, MSG_DONTWAIT, handlers, job, &wrong);

	if (status == 1 || status == -EAGAIN)
		return;
	if (status == -EPROTO)
		audit_violation("layers", job->slot - LAYERS_SLOT, ipc_error_text(wrong));
	fail_job(job, EPIPE);
}

static void on_pid(void *context)
{
	struct layers_job *job = context;

	loop_close(&job->pid_watch, &job->pidfd);
	try_free(job);
}

static struct layers_job *find_waiting(uint32_t slot)
{
	struct layers_job *job = slot < SLOTS ? &jobs[slot - LAYERS_SLOT] : NULL;

	return job && job->state != JOB_FREE && !job->has_answer ? job : NULL;
}

int layers_job_started(uint32_t slot, int *pidfd)
{
	struct layers_job *job = find_waiting(slot);

	if (!job)
		return -EPROTO;
	job->has_answer = true;
	job->pidfd = fd_take(pidfd);
	if (job->state == JOB_OVER)
		(void)kernel_pidfd_send_signal(job->pidfd, SIGKILL); /* ESRCH: it is gone */
	return loop_add(&job->pid_watch, job->pidfd, on_pid, job);
}

int layers_job_failed(uint32_t slot, uint32_t error)
{
	struct layers_job *job = find_waiting(slot);

	if (!job)
		return -EPROTO;
	job->has_answer = true;
	fail_job(job, error);
	try_free(job);
	return 0;
}

void layers_job_abandon(const struct frontend *frontend)
{
	FOR_EACH (layers_job, job, jobs, LAYERS_JOBS_MAX) {
		if (job->state != JOB_LIVE || job->frontend != frontend)
			continue;
		job->frontend = NULL;
		if (is_reader(job->operation))
			fail_job(job, ECANCELED);
	}
}

bool layers_job_is_removing(void)
{
	return remover && remover->state == JOB_LIVE;
}

/* --- how it begins ---------------------------------------------------------------------------- */

/* Some are kept for notes: without a count there is no disk limit. */
static struct layers_job *find_free(const struct layers_ask *ask)
{
	const bool is_note = ask->operation == LAYERS_SCAN;

	for (uint32_t i = is_note ? 0 : LAYERS_JOBS_FOR_SCANS; i < LAYERS_JOBS_MAX; i++) {
		if (jobs[i].state != JOB_FREE)
			continue;
		jobs[i] = (struct layers_job){ .slot = LAYERS_SLOT + i,
					       .operation = ask->operation,
					       .sandbox = ask->sandbox,
					       .frontend = ask->frontend,
					       .request = ask->request,
					       .began_us = is_note ? clock_real_us() : 0,
					       .channel.fd = -1,
					       .pidfd = -1 };
		return &jobs[i];
	}
	return NULL;
}

static int launch_job(struct layers_job *job, int helper_end, int output)
{
	const struct ipc_helper_start message = { .slot = job->slot, .kind = HELPER_LAYERS };
	/* Without a sandbox it outlives us, and nobody shall wait for the end of its stderr. */
	const int errors = job->sandbox ? STDERR_FILENO : supervisor.null;
	const int fds[] = { supervisor.null, output, errors, helper_end };
	int error = loop_add(&job->watch, job->channel.fd, on_channel, job);

	if (!error)
		error = state_send(&supervisor.factory, IPC_TYPE_helper_start, &message, fds);
	if (!error)
		job->state = JOB_LIVE;
	return error;
}

/* Send the frontend its end of the pipe before anything is written to it. */
static int send_started(const struct layers_job *job, int pipe_ends[2])
{
	const struct ipc_changes_started started = { .request = job->request };

	if (!job->frontend)
		return 0;
	if (pipe2(pipe_ends, O_CLOEXEC) != 0)
		return -errno;
	return state_send(&job->frontend->channel, IPC_TYPE_changes_started, &started,
			  &pipe_ends[0]);
}

/* All that it is to do waits in its channel before it exists. */
static int begin_job(const struct layers_ask *ask, struct layers_job **ret)
{
	struct layers_job *job = find_free(ask);
	int pipe_ends[2] = { -1, -1 };
	int ends[2] = { -1, -1 };
	int error = job ? channel_pair(ends) : -EAGAIN;

	if (error)
		return error;
	job->channel = (struct channel){ ends[0], IPC_SUPERVISOR, IPC_LAYERS, IPC_SERVE };
	error = job->sandbox ? hand_all(job, ask) : hand_fd(job, LAYERS_TARGET, store_trash());
	if (!error)
		error = ask_for(job, ask);
	if (!error)
		error = send_started(job, pipe_ends);
	if (!error)
		error = launch_job(job, ends[1], job->frontend ? pipe_ends[1] : supervisor.null);
	if (error) {
		loop_close(&job->watch, &job->channel.fd);
	} else {
		*ret = job;
	}
	fd_close_all(pipe_ends, 2);
	fd_close(&ends[1]);
	return error;
}

int layers_job_begin(const struct layers_ask *ask)
{
	struct layers_job *job;
	const int error = begin_job(ask, &job);

	if (error)
		return error;
	ask->sandbox->persistent.jobs++;
	if (!is_reader(ask->operation))
		ask->sandbox->persistent.writer = job;
	return 0;
}

int layers_job_begin_own(struct sandbox *sandbox, uint32_t operation)
{
	const struct layers_ask ask = { .sandbox = sandbox,
					.operation = operation,
					.since_us = sandbox->persistent.scan.since_us,
					.chosen = -1 };

	return layers_job_begin(&ask);
}

void layers_job_empty_trash(void)
{
	const struct layers_ask ask = { .operation = LAYERS_REMOVE, .chosen = -1 };

	is_more = remover != NULL;
	if (!remover) /* after an error, the next disowned sandbox has the trash emptied */
		(void)begin_job(&ask, &remover);
}
