/* SPDX-License-Identifier: Apache-2.0 */
#include "front/handlers_start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/audit.h"
#include "base/reply.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_layers.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/refusal.h"
#include "common/ipc/workspace_mode.h"
#include "common/records/history.h"
#include "front/handlers_list.h"
#include "persistent/layers_job.h"
#include "persistent/scan.h"
#include "persistent/workspace.h"
#include "run/budget.h"
#include "run/deferred.h"
#include "run/execution.h"
#include "run/posture.h"
#include "run/request.h"
#include "run/sandbox.h"
#include "run/standby.h"
#include "stewards/store/store.h"

/* The persistent sandbox that a request is for. */
struct target {
	struct frontend *frontend;
	struct channel_message *message;
	const struct ipc_head *head;
	bool execute;
	struct sandbox *sandbox; /* this and `profile`: when it is ready */
	uint32_t profile;
};

/* A sandbox is there in milliseconds; an emulated machine under load needs a hundred times that. */
#define PROBE_MS 20000

/* Have msp-store note an execution that has begun, if it is in a persistent sandbox; `code` is a
 * memfd, or -1. It is not waited for. */
static void note_history(const struct request *request, int code)
{
	const struct ipc_spawn *spawn = request->spawn;
	struct history_note note = { .execution = request->id, .pid = supervisor.pid };
	ssize_t got;

	if (!request->sandbox)
		return;
	note.argv_size = spawn->argv_size < HISTORY_TEXT_MAX ? spawn->argv_size : HISTORY_TEXT_MAX;
	memcpy(note.text, spawn->argv, note.argv_size);
	got = pread(code, note.text + note.argv_size, HISTORY_TEXT_MAX - note.argv_size, 0);
	note.code_size = got > 0 ? (uint32_t)got : 0;
	(void)store_note(request->sandbox->persistent.directory, &note);
}

static int begin_in(const struct target *target, enum refusal refusal, struct request *request,
		    int code, char detail[IPC_LIST_MAX])
{
	struct frontend *frontend = target->frontend;
	struct ipc_execution_done done = { .verdict = VERDICT_INTERNAL };
	uint32_t retry_ms = 0;
	int error = 0;

	request->owner = target->head->owner;
	request->sandbox = target->sandbox;
	request->heard_us = clock_now_us();
	if (execution_find(frontend, target->head->request))
		refusal = REFUSAL_REQUEST_IN_USE;
	else if (!refusal)
		refusal = budget_check(plan_profile(&supervisor.plan, request->profile),
				       request->sandbox, detail, &retry_ms);
	if (!refusal)
		standby_align(request);
	if (!refusal)
		error = audit_execution_begin(frontend, request, code, deferred_ticket(), detail);
	if (error)
		refusal = error == -EINPROGRESS ? REFUSAL_DEFERRED : REFUSAL_AUDIT;
	if (refusal && refusal != REFUSAL_DEFERRED)
		return reply_refuse(frontend, target->head->request, refusal, detail, retry_ms);
	if (refusal)
		return deferred_add(frontend, target->message, request->owner, target->sandbox);
	if (request->sandbox)
		scan_execution_begin(&request->sandbox->persistent);
	error = execution_begin(frontend, request, code);
	note_history(request, code);
	if (!error || supervisor.is_ending) /* then it has been said why */
		return 0;
	done.error = (uint32_t)-error;
	audit_execution_end(request->id, request->sandbox, &done);
	return reply_done(frontend, target->head->request, error);
}

static enum refusal find_target(struct target *target, char detail[IPC_LIST_MAX])
{
	const enum refusal refusal = sandbox_own(target->head, &target->sandbox, detail);

	return refusal ? refusal
		       : sandbox_prepare(target->sandbox, target->frontend, target->execute,
					 &target->profile, detail);
}

/* The profile of a request for a persistent sandbox is the sandbox's, with its hosts. */
static enum refusal enter_sandbox(struct target *target, char profile[IPC_NAME_MAX],
				  uint32_t no_hosts, char detail[IPC_LIST_MAX])
{
	const enum refusal refusal =
		target->head->sandbox[0] ? find_target(target, detail) : REFUSAL_NONE;

	if (!target->head->sandbox[0] || refusal)
		return refusal;
	if (no_hosts ||
	    (profile[0] && strcmp(profile, target->sandbox->persistent.meta->profile) != 0))
		return reply_reason(REFUSAL_SANDBOX_PROFILE,
				    target->sandbox->persistent.meta->profile, detail);
	memcpy(profile, target->sandbox->persistent.meta->profile, IPC_NAME_MAX);
	return REFUSAL_NONE;
}

int handle_execution_start(void *context, struct channel_message *message)
{
	struct ipc_execution_start *from = ipc_body_mutable(message, execution_start);
	struct target target = { context, message, &from->head, true, NULL, 0 };
	char detail[IPC_LIST_MAX] = "";
	enum refusal refusal = enter_sandbox(&target, from->profile, from->no_hosts, detail);
	struct request request;

	if (!refusal)
		refusal = request_command(from, &request, detail);
	return begin_in(&target, refusal, &request, -1, detail);
}

int handle_code_start(void *context, struct channel_message *message)
{
	struct ipc_code_start *from = ipc_body_mutable(message, code_start);
	struct target target = { context, message, &from->head, true, NULL, 0 };
	char detail[IPC_LIST_MAX] = "";
	enum refusal refusal = enter_sandbox(&target, from->profile, from->no_hosts, detail);
	struct request request;

	if (!refusal)
		refusal = request_code(from, &request, detail);
	return begin_in(&target, refusal, &request, message->fds[0], detail);
}

int handle_file_start(void *context, struct channel_message *message)
{
	struct ipc_file_start *from = ipc_body_mutable(message, file_start);
	struct target target = { context, message, &from->head, true, NULL, 0 };
	enum refusal refusal = REFUSAL_NONE;
	char detail[IPC_LIST_MAX] = "";
	struct request request;

	if (supervisor.file_image < 0)
		return reply_refuse(
			context, from->request, REFUSAL_STATE,
			supervisor.stateless[0] ? supervisor.stateless : "msp-file is missing", 0);
	refusal = find_target(&target, detail);
	if (!refusal)
		refusal = request_file(from, target.sandbox->persistent.meta->profile, &request,
				       detail);
	return begin_in(&target, refusal, &request, -1, detail);
}

int handlers_start_probe(void)
{
	static struct ipc_spawn spawn; /* too large for the stack */
	const struct request request = { .owner = "",
					 .profile = supervisor.default_profile,
					 .timeout_ms = PROBE_MS,
					 .heard_us = clock_now_us(),
					 .spawn = &spawn };
	int error;

	if (posture_probe(NULL, request.profile) == PROBE_NONE)
		return 0;
	spawn.use_tty = 1; /* no pipes */
	spawn.cwd[0] = '/';
	supervisor.is_probing = true;
	error = execution_begin(NULL, &request, -1);
	return supervisor.is_ending ? 0 : error; /* then it has been said why */
}

/* --- changes ---------------------------------------------------------------------------------- */

static bool changes_host(uint32_t operation)
{
	return operation == CHANGES_APPLY || operation == CHANGES_UNDO;
}

/* An execution in it would change the files that are brought to the host. */
static enum refusal find_alone(struct target *target, char detail[IPC_LIST_MAX])
{
	enum refusal refusal = sandbox_own_idle(target->head, &target->sandbox, detail);

	if (!refusal)
		refusal = find_target(target, detail);
	/* The last execution's processes are being killed. */
	return !refusal && target->sandbox->persistent.executions > 0 ? REFUSAL_DEFERRED : refusal;
}

/* A broker speaks for a model. A person's consent passes through it, so two things can be checked
 * here: that this client may ask at all, and that the consent is to the result of a preview. */
static bool may_change_host(const struct ipc_changes_start *from, uint32_t apply)
{
	static const uint8_t none[IPC_DIGEST_BYTES];
	const bool needs_word = apply == PLAN_APPLY_ASK || (from->flags & CHANGES_CONSENTED);

	return apply != PLAN_APPLY_PERSON && from->operation == CHANGES_APPLY &&
	       (!needs_word || memcmp(from->expected, none, sizeof(none)) != 0);
}

/* Check that the profile and the sandbox's workspace let this frontend ask for it. */
static enum refusal check_changes(const struct ipc_changes_start *from, const struct target *target,
				  char detail[IPC_LIST_MAX])
{
	const uint32_t mode = target->sandbox->persistent.meta->workspace_mode;
	struct stat done;

	if (mode == WORKSPACE_READ || mode == WORKSPACE_WRITE ||
	    (mode == WORKSPACE_NONE && from->operation != CHANGES_DIFF))
		return reply_reason(REFUSAL_WORKSPACE,
				    "there is no copy-on-write directory of the host in it, whose "
				    "changes could be shown or applied",
				    detail);
	if (changes_host(from->operation) && target->frontend->is_broker &&
	    !may_change_host(from, plan_profile(&supervisor.plan, target->profile)->apply))
		return REFUSAL_APPLY;
	/* The upper of a mounted overlay must not change from outside. */
	if (from->operation == CHANGES_PREPARE && !sandbox_stop(target->sandbox))
		return REFUSAL_DEFERRED;
	return from->operation == CHANGES_UNDO &&
			       fstatat(target->sandbox->persistent.directory, "journal/done", &done,
				       AT_SYMLINK_NOFOLLOW) != 0
		       ? REFUSAL_UNDO
		       : REFUSAL_NONE;
}

static const uint32_t operations[CHANGES_OPERATION_COUNT] = {
	[CHANGES_DIFF] = LAYERS_DIFF,       [CHANGES_PREVIEW] = LAYERS_PREVIEW,
	[CHANGES_APPLY] = LAYERS_APPLY,     [CHANGES_UNDO] = LAYERS_UNDO,
	[CHANGES_PREPARE] = LAYERS_PREPARE,
};

/* Begin what passed. */
static enum refusal begin_changes(const struct ipc_changes_start *from, const struct target *target,
				  char detail[IPC_LIST_MAX])
{
	struct layers_ask ask = {
		.sandbox = target->sandbox,
		.operation = operations[from->operation],
		.frontend = target->frontend,
		.request = from->request,
		.changes = from,
		.profile = plan_profile(&supervisor.plan, target->profile),
		.since = STORE_NO_LAYER,
		.chosen = target->message->fds[0],
		.named = workspace_came(),
	};
	struct ipc_changes_done done = { .request = from->request, .step = CHANGES_STEP_HELPER };
	const struct store_meta *meta = target->sandbox->persistent.meta;
	int error = 0;

	if (from->flags & CHANGES_FROM_CHECKPOINT) {
		const struct store_checkpoint *at = store_checkpoint_find(meta, from->number);

		if (!at)
			return sight_no_checkpoint(meta, detail);
		ask.since = at->layer;
	}
	if (changes_host(from->operation))
		error = audit_apply_begin(target->frontend, target->sandbox->persistent.id, from,
					  deferred_ticket(), detail);
	if (error)
		return error == -EINPROGRESS ? REFUSAL_DEFERRED : REFUSAL_AUDIT;
	error = layers_job_begin(&ask);
	if (!error)
		return REFUSAL_NONE;
	done.error = (uint32_t)-error;
	if (changes_host(from->operation))
		audit_apply_end(target->sandbox->persistent.id, &done);
	return reply_reason(REFUSAL_RESOURCES, errno_text(-error), detail);
}

int handle_changes_start(void *context, struct channel_message *message)
{
	const struct ipc_changes_start *from = ipc_body(message, changes_start);
	struct target target = { context, message, &from->head, false, NULL, 0 };
	enum refusal refusal = REFUSAL_NONE;
	char detail[IPC_LIST_MAX] = "";

	if (from->operation == 0 || from->operation >= CHANGES_OPERATION_COUNT ||
	    from->conflict >= CONFLICT_COUNT)
		return -EPROTO;
	refusal = (from->operation >= CHANGES_APPLY ? find_alone : find_target)(&target, detail);
	if (!refusal)
		refusal = check_changes(from, &target, detail);
	if (!refusal)
		refusal = begin_changes(from, &target, detail);
	return refusal ? deferred_refuse(context, message, from->owner, target.sandbox, refusal,
					 detail)
		       : 0;
}
