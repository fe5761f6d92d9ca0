/* SPDX-License-Identifier: Apache-2.0
 *
 * One handler per message; each checks meaning first, then policy (request.c), then acts. A peer
 * that breaks the protocol or goes away ends this supervisor and every sandbox with it.
 */
#include "handlers.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/dispatch.h"
#include "common/fd.h"
#include "common/log.h"
#include "execution.h"
#include "request.h"

/* Whose languages the welcome names: the one that a request without a profile means. */
#define DEFAULT_PROFILE "default"

static struct ipc_welcome welcome;
static struct loop_watch frontend_watch;
static struct loop_watch factory_watch;

void handlers_prepare(void)
{
	const int profile = plan_profile_find(&supervisor.plan, DEFAULT_PROFILE);

	memcpy(welcome.schema, ipc_schema_hash, sizeof(welcome.schema));
	welcome.landlock_abi = (uint32_t)supervisor.landlock_abi;
	welcome.limits = supervisor.limits;
	welcome.profiles_size = request_list_profiles(welcome.profiles);
	if (profile >= 0)
		welcome.languages_size = request_list_languages(
			plan_profile(&supervisor.plan, (uint32_t)profile), welcome.languages);
}

static int handle_hello(void *context, struct channel_message *message)
{
	int error;

	if (memcmp(message->body.hello.schema, ipc_schema_hash, sizeof(welcome.schema)) != 0)
		return -EPROTO;
	error = channel_send(&supervisor.frontend, IPC_TYPE_welcome, &welcome, NULL, MSG_DONTWAIT);
	supervisor.frontend.phase = IPC_SERVE;
	return error;
}

static int refuse(uint64_t request, enum refusal reason, const char *detail)
{
	static struct ipc_execution_refused refused;

	refused.request = request;
	refused.reason = reason;
	strncpy(refused.detail, detail, sizeof(refused.detail) - 1);
	return channel_send(&supervisor.frontend, IPC_TYPE_execution_refused, &refused, NULL,
			    MSG_DONTWAIT);
}

static int begin(uint64_t number, enum refusal refusal, const struct request *request, int code,
		 const char *detail)
{
	int error;

	if (execution_find(number))
		refusal = REFUSAL_REQUEST_IN_USE;
	else if (!refusal && execution_is_full())
		refusal = REFUSAL_BUSY;
	if (refusal)
		return refuse(number, refusal, detail);
	error = execution_begin(request, code);
	return error ? refuse(number, REFUSAL_RESOURCES, strerror(-error)) : 0;
}

static int handle_execution_start(void *context, struct channel_message *message)
{
	const struct ipc_execution_start *from = &message->body.execution_start;
	char detail[IPC_LIST_MAX] = "";
	struct request request;
	const enum refusal refusal = request_command(from, &request, detail);

	return begin(from->request, refusal, &request, -1, detail);
}

static int handle_code_start(void *context, struct channel_message *message)
{
	const struct ipc_code_start *from = &message->body.code_start;
	char detail[IPC_LIST_MAX] = "";
	struct request request;
	const enum refusal refusal = request_code(from, &request, detail);

	return begin(from->request, refusal, &request, message->fds[0], detail);
}

static int handle_execution_end(void *context, struct channel_message *message)
{
	static const uint32_t verdicts[] = {
		[END_CANCELLED] = VERDICT_CANCELLED,
		[END_OUTPUT] = VERDICT_OUTPUT,
		[END_CLIENT_GONE] = VERDICT_CLIENT_GONE,
	};
	const struct ipc_execution_end *from = &message->body.execution_end;
	struct execution *execution = execution_find(from->request);

	if (from->reason < END_CANCELLED || from->reason > END_CLIENT_GONE)
		return -EPROTO;
	if (execution) /* else it ended while this was on its way */
		execution_kill(execution, verdicts[from->reason]);
	return 0;
}

static int handle_factory_ready(void *context, struct channel_message *message)
{
	const struct ipc_factory_ready *from = &message->body.factory_ready;

	if (from->stage == STAGE_NONE)
		return 0;
	log_line("cannot make sandboxes on this machine: %s: %s; 'msp doctor' says what is missing",
		 stage_text(from->stage), strerror((int)from->error));
	supervisor.exit_status = MSP_EXIT_REFUSED;
	return -ECANCELED;
}

static int handle_sandbox_created(void *context, struct channel_message *message)
{
	return execution_created(message->body.sandbox_created.slot, &message->fds[0]);
}

static int handle_sandbox_failed(void *context, struct channel_message *message)
{
	const struct ipc_sandbox_failed *from = &message->body.sandbox_failed;

	if (from->slot != EXECUTIONS_MAX)
		return execution_failed(from->slot, from->stage, from->error);
	log_line("cannot start msp-broker: %s: %s", stage_text(from->stage),
		 strerror((int)from->error));
	supervisor.exit_status = MSP_EXIT_SANDBOX;
	return -ECANCELED;
}

static int handle_helper_started(void *context, struct channel_message *message)
{
	return 0; /* its channel tells how it goes */
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_hello] = handle_hello,
	[IPC_TYPE_execution_start] = handle_execution_start,
	[IPC_TYPE_code_start] = handle_code_start,
	[IPC_TYPE_execution_end] = handle_execution_end,
	[IPC_TYPE_factory_ready] = handle_factory_ready,
	[IPC_TYPE_sandbox_created] = handle_sandbox_created,
	[IPC_TYPE_sandbox_failed] = handle_sandbox_failed,
	[IPC_TYPE_helper_started] = handle_helper_started,
};

/* `status` is how its receiving ended: 0 gone, -errno. A frontend may go at any time. */
static void end_channel(struct channel *channel, int status, enum ipc_error wrong)
{
	const bool is_factory = channel == &supervisor.factory;
	const bool is_fault = status < 0 && status != -ECANCELED && status != -EPIPE;
	const bool is_unready = !is_factory && channel->phase == IPC_SETUP;
	const char *name = is_factory ? "the factory" : "the frontend";

	if (wrong)
		log_line("%s broke the protocol: %s", name, ipc_error_text(wrong));
	else if (is_fault)
		log_line("%s cannot be served: %s", name, strerror(-status));
	else if (is_factory && !supervisor.is_ending)
		log_line("the factory ended");
	else if (is_unready)
		log_line("the frontend ended before it was ready");
	if (supervisor.exit_status == 0 && (is_fault || is_factory || is_unready))
		supervisor.exit_status = MSP_EXIT_SOFTWARE;
	loop_remove(is_factory ? &factory_watch : &frontend_watch);
	fd_close(&channel->fd);
	supervisor.is_ending = true;
}

static void on_channel(void *context)
{
	static struct channel_message message;
	struct channel *channel = context;
	enum ipc_error wrong = IPC_OK;
	const int status = dispatch_one(channel, &message, MSG_DONTWAIT, handlers, NULL, &wrong);

	if (status != 1 && status != -EAGAIN)
		end_channel(channel, status, wrong);
}

int handlers_watch(void)
{
	const int error =
		loop_add(&frontend_watch, supervisor.frontend.fd, on_channel, &supervisor.frontend);

	return error ? error
		     : loop_add(&factory_watch, supervisor.factory.fd, on_channel,
				&supervisor.factory);
}
