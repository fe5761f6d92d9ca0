/* SPDX-License-Identifier: Apache-2.0
 *
 * One handler per message; each checks meaning first, then policy (request.c), then acts. A
 * frontend that breaks the protocol or goes away ends with what it asked for; the factory's end is
 * ours.
 */
#include "front/handlers.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "base/audit.h"
#include "base/reply.h"
#include "common/ipc/dispatch.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_posture.h"
#include "common/ipc/limits_mode.h"
#include "common/log.h"
#include "front/handlers_list.h"
#include "front/handlers_start.h"
#include "front/service.h"
#include "persistent/layers_job.h"
#include "run/deferred.h"
#include "run/execution.h"
#include "run/posture.h"
#include "run/request.h"
#include "run/sandbox.h"

/* Kills and other messages are heard after so many runs of deferred requests. */
#define RUNS_PER_TICK 4

static struct ipc_welcome welcome;
static struct loop_watch factory_watch;
static bool is_factory_ready;

void handlers_prepare(void)
{
	const struct plan_profile *profile =
		plan_profile(&supervisor.plan, supervisor.default_profile);

	welcome = (struct ipc_welcome){ .landlock_abi = (uint32_t)supervisor.landlock_abi,
					.limits = supervisor.limits,
					.executions_max = supervisor.executions_max,
					.is_service = supervisor.is_service };
	memcpy(welcome.schema, ipc_schema_hash, sizeof(welcome.schema));
	if (!supervisor.is_for_one) /* else the frontend has its command */
		welcome.languages_size = request_list_languages(profile, welcome.languages);
	/* The start saw to it that the name fits. */
	strncpy(welcome.default_profile, plan_string(&supervisor.plan, profile->name),
		sizeof(welcome.default_profile) - 1);
}

void handlers_tell_policy(void)
{
	static struct ipc_policy_changed changed;

	handlers_prepare();
	changed.generation = supervisor.generation;
	memcpy(changed.default_profile, welcome.default_profile, sizeof(changed.default_profile));
	changed.languages_size = welcome.languages_size;
	memcpy(changed.languages, welcome.languages, sizeof(changed.languages));
	frontend_tell_all(IPC_TYPE_policy_changed, &changed, &supervisor.plan_fd);
}

static bool is_this_version(const uint8_t schema[IPC_SCHEMA_BYTES])
{
	return memcmp(schema, ipc_schema_hash, IPC_SCHEMA_BYTES) == 0;
}

/* Someone whose operator accepts no weaker limits hears of it; what they asked for is not read. */
static int check_limits(const struct frontend *frontend, uint32_t accepted)
{
	if (supervisor.limits != LIMITS_FALLBACK || accepted == LIMITS_FALLBACK)
		return 0;
	frontend_tell_client_end(&frontend->channel, CLIENT_END_LIMITS);
	return -ECANCELED;
}

static int handle_hello(void *context, struct channel_message *message)
{
	struct frontend *frontend = context;
	const struct ipc_profile_posture *news;
	int error;

	if (!is_this_version(ipc_body(message, hello)->schema))
		return -EPROTO;
	error = check_limits(frontend, ipc_body(message, hello)->limits);
	if (error)
		return error;
	news = posture_news(frontend, supervisor.plan.slot, supervisor.default_profile);
	if (news) {
		memcpy(welcome.posture_profile, news->profile, sizeof(welcome.posture_profile));
		welcome.posture = news->posture;
	}
	error = state_send(&frontend->channel, IPC_TYPE_welcome, &welcome, &supervisor.plan_fd);
	frontend->channel.phase = IPC_SERVE;
	if (frontend->is_connection)
		audit_client(frontend);
	return error;
}

static int handle_status_ask(void *context, struct channel_message *message)
{
	struct ipc_status status;

	if (!is_this_version(ipc_body(message, status_ask)->schema))
		return -EPROTO;
	service_status(&status);
	return reply_send(context, IPC_TYPE_status, &status);
}

static int handle_client_workspace(void *context, struct channel_message *message)
{
	struct frontend *frontend = context;

	if (!frontend->is_connection || frontend->workspace_count == CLIENT_WORKSPACES_MAX)
		return -EPROTO;
	frontend->is_workspace_start = ipc_body(message, client_workspace)->is_start != 0;
	frontend->workspaces[frontend->workspace_count++] = channel_take_fd(message, 0);
	return 0;
}

/* A broker has no client to hand over, and one client per connection is enough. */
static int handle_client_start(void *context, struct channel_message *message)
{
	const struct ipc_client_start *from = ipc_body(message, client_start);
	const struct ipc_client_started started = { .limits = supervisor.limits };
	struct frontend *frontend = context;
	int error;

	if (!is_this_version(from->schema) || !frontend->is_connection)
		return -EPROTO;
	error = check_limits(frontend, from->limits);
	if (!error)
		error = reply_send(frontend, IPC_TYPE_client_started, &started);
	if (!error)
		error = frontend_hand_over(frontend, message->fds);
	if (!error)
		audit_client(frontend);
	return error;
}

static int handle_execution_end(void *context, struct channel_message *message)
{
	static const uint32_t verdicts[] = {
		[END_CANCELLED] = VERDICT_CANCELLED,
		[END_OUTPUT] = VERDICT_OUTPUT,
		[END_CLIENT_GONE] = VERDICT_CLIENT_GONE,
	};
	const struct ipc_execution_end *from = ipc_body(message, execution_end);
	struct execution *execution = execution_find(context, from->request);

	if (from->reason < END_CANCELLED || from->reason > END_CLIENT_GONE)
		return -EPROTO;
	if (execution)
		execution_kill(execution, verdicts[from->reason]);
	else if (deferred_cancel(context, from->request))
		return reply_refuse(context, from->request, REFUSAL_CANCELLED, "", 0);
	return 0; /* or it ended while this was on its way */
}

static bool is_sendable(uint32_t signal)
{
#define OR_SIGNAL(name) || signal == SIG##name
	return false IPC_SIGNALS(OR_SIGNAL);
#undef OR_SIGNAL
}

static int handle_execution_signal(void *context, struct channel_message *message)
{
	const struct ipc_execution_signal *from = ipc_body(message, execution_signal);
	const struct execution *execution = execution_find(context, from->request);

	if (!is_sendable(from->signal))
		return -EPROTO;
	if (execution) /* else it ended while this was on its way */
		execution_signal(execution, from->signal);
	return 0;
}

static int handle_execution_extend(void *context, struct channel_message *message)
{
	const struct ipc_execution_extend *from = ipc_body(message, execution_extend);
	struct execution *execution = execution_find(context, from->request);
	struct ipc_execution_extended answer = { .request = from->request };

	if (!execution) /* it ended while this was on its way */
		return 0;
	answer.wall_ms = execution_extend(execution, from->wall_ms);
	return reply_send(context, IPC_TYPE_execution_extended, &answer);
}

static int handle_goodbye(void *context, struct channel_message *message)
{
	struct frontend *frontend = context;

	frontend->has_said_goodbye = ipc_body(message, goodbye)->exit_code == 0;
	return 0;
}

static int handle_factory_ready(void *context, struct channel_message *message)
{
	const struct ipc_factory_ready *from = ipc_body(message, factory_ready);

	is_factory_ready = from->stage == STAGE_NONE;
	if (is_factory_ready)
		return 0;
	log_line("cannot make sandboxes on this machine: %s: %s; 'msp doctor' says what is missing",
		 stage_text(from->stage), errno_text((int)from->error));
	supervisor.exit_status = MSP_EXIT_REFUSED;
	return -ECANCELED;
}

static int handle_sandbox_failed(void *context, struct channel_message *message)
{
	const struct ipc_sandbox_failed *from = ipc_body(message, sandbox_failed);
	int error;

	if (from->slot < SANDBOX_SLOTS)
		return sandbox_failed(from->slot, from->stage, from->error);
	if (from->slot >= LAYERS_SLOT)
		return layers_job_failed(from->slot, from->error);
	error = frontend_broker_failed(from->slot);
	if (error)
		return error;
	log_line("cannot start msp-broker: %s: %s", stage_text(from->stage),
		 errno_text((int)from->error));
	if (!supervisor.is_service)
		supervisor.exit_status = MSP_EXIT_SANDBOX;
	return 0;
}

static int handle_helper_started(void *context, struct channel_message *message)
{
	const uint32_t slot = ipc_body(message, helper_started)->slot;

	return slot >= LAYERS_SLOT ? layers_job_started(slot, &message->fds[0])
				   : frontend_broker_started(slot, &message->fds[0]);
}

static const dispatch_handler frontend_handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_hello] = handle_hello,
	[IPC_TYPE_client_workspace] = handle_client_workspace,
	[IPC_TYPE_client_start] = handle_client_start,
	[IPC_TYPE_status_ask] = handle_status_ask,
	[IPC_TYPE_execution_start] = handle_execution_start,
	[IPC_TYPE_code_start] = handle_code_start,
	[IPC_TYPE_file_start] = handle_file_start,
	[IPC_TYPE_changes_start] = handle_changes_start,
	[IPC_TYPE_execution_end] = handle_execution_end,
	[IPC_TYPE_execution_signal] = handle_execution_signal,
	[IPC_TYPE_execution_extend] = handle_execution_extend,
	[IPC_TYPE_sandbox_new] = handle_sandbox_new,
	[IPC_TYPE_sandbox_list] = handle_sandbox_list,
	[IPC_TYPE_sandbox_end] = handle_sandbox_end,
	[IPC_TYPE_checkpoint_do] = handle_checkpoint_do,
	[IPC_TYPE_network_watch] = handle_network_watch,
	[IPC_TYPE_bridge_start] = handle_bridge_start,
	[IPC_TYPE_bridge_look] = handle_bridge_look,
	[IPC_TYPE_goodbye] = handle_goodbye,
};

static const dispatch_handler factory_handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_factory_ready] = handle_factory_ready,
	[IPC_TYPE_sandbox_created] = sandbox_created,
	[IPC_TYPE_sandbox_failed] = handle_sandbox_failed,
	[IPC_TYPE_helper_started] = handle_helper_started,
};

/* Why nothing more is received: `status` is 0 when the peer is gone, -ECANCELED when a handler has
 * said it, else -errno. True when it was a fault. */
static bool log_loss(const char *name, int status, enum ipc_error wrong)
{
	if (wrong)
		log_line("%s broke the protocol: %s", name, ipc_error_text(wrong));
	else if (status < 0 && status != -ECANCELED && status != -EPIPE)
		log_line("%s cannot be served: %s", name, errno_text(-status));
	else
		return false;
	return true;
}

static void note_breach(const char *peer, uint64_t number, int status, enum ipc_error wrong)
{
	if (wrong || status == -EPROTO)
		audit_violation(peer, number,
				wrong ? ipc_error_text(wrong) : "says what it must not");
}

static struct channel_message received;

/* A frontend that has gone hears no answers: of its messages only the last word counts. */
static void hear_last_word(struct frontend *frontend)
{
	enum ipc_error wrong;

	while (channel_receive(&frontend->channel, &received, MSG_DONTWAIT, &wrong) == 1) {
		if (received.type == IPC_TYPE_goodbye)
			(void)handle_goodbye(frontend, &received);
		channel_message_done(&received);
	}
}

/* A frontend may go at any time, but one that never said hello has failed. A connection need not
 * have said it. */
static void lose_frontend(struct frontend *frontend, int status, enum ipc_error wrong)
{
	const bool is_unready = !frontend->is_connection && frontend->channel.phase == IPC_SETUP;
	const char *missing = is_unready ? "the frontend ended before it was ready" : NULL;
	bool is_fault = log_loss("a frontend", status, wrong);

	if (!is_fault)
		hear_last_word(frontend);
	note_breach("frontend", frontend->number, status, wrong);
	if (!missing && frontend->is_broker && !frontend->has_said_goodbye)
		missing = "msp-broker ended without a goodbye";
	if (missing && !is_fault) {
		log_line("%s", missing);
		is_fault = true;
	}
	if (is_fault && !supervisor.is_service)
		state_note_fault();
	frontend_end(frontend, is_fault ? CLIENT_END_FAILED : CLIENT_END_DONE);
}

/* There was no room for what came with a message: that one request fails. */
static int do_without_fds(const struct frontend *frontend, const struct channel_message *message)
{
	if (message->type == IPC_TYPE_code_start || message->type == IPC_TYPE_changes_start)
		return reply_done(frontend, ipc_request(message), -EMFILE);
	if (message->type == IPC_TYPE_client_start)
		frontend_tell_client_end(&frontend->channel, CLIENT_END_FULL);
	return -EMFILE;
}

/* Take an answer whose pidfd found no room as a failed start. Its process ends with its channel. */
static int do_without_pidfd(const struct channel_message *message)
{
	if (message->type == IPC_TYPE_sandbox_created)
		return sandbox_failed(ipc_slot(message), STAGE_CLONE, EMFILE);
	if (message->type != IPC_TYPE_helper_started)
		return -EMFILE;
	return ipc_slot(message) < LAYERS_SLOT ? frontend_broker_failed(ipc_slot(message))
					       : layers_job_failed(ipc_slot(message), EMFILE);
}

void handlers_tick(void)
{
	static struct channel_message message;
	struct frontend *frontend;
	int error;

	if (is_factory_ready && !supervisor.is_probing) {
		is_factory_ready = false; /* it is said once */
		service_tell_ready();
	}
	for (int i = 0; i < RUNS_PER_TICK && !supervisor.is_holding; i++) {
		frontend = deferred_begin(&message);
		if (!frontend)
			return;
		error = frontend_handlers[message.type](frontend, &message);
		deferred_end(&message);
		if (error)
			lose_frontend(frontend, error, IPC_OK);
	}
}

void handlers_on_frontend(void *context)
{
	struct frontend *frontend = context;
	enum ipc_error wrong = IPC_OK;
	int status = dispatch_one(&frontend->channel, &received, MSG_DONTWAIT, frontend_handlers,
				  frontend, &wrong);

	deferred_end_question();
	if (status == -EMFILE && do_without_fds(frontend, &received) == 0)
		status = 1;
	if (status != 1 && status != -EAGAIN)
		lose_frontend(frontend, status, wrong);
}

static void on_factory(void *context)
{
	enum ipc_error wrong = IPC_OK;
	int status = dispatch_one(&supervisor.factory, &received, MSG_DONTWAIT, factory_handlers,
				  NULL, &wrong);

	if (status == -EMFILE && do_without_pidfd(&received) == 0)
		status = 1;
	if (status == 1 || status == -EAGAIN)
		return;
	note_breach("factory", 0, status, wrong);
	(void)log_loss("the factory", status, wrong);
	loop_close(&factory_watch, &supervisor.factory.fd);
	state_end(MSP_EXIT_SOFTWARE);
}

int handlers_watch_factory(void)
{
	return loop_add(&factory_watch, supervisor.factory.fd, on_factory, NULL);
}
