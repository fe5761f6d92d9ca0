/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/nonblocking.h"
#include "frontend/supervisor_client.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/limits_mode.h"
#include "common/ipc/refusal.h"

static struct supervisor_client client;
static struct channel supervisor;
static int fd;

static struct {
	int welcomes, refusals, starts, ttys, dones;
	uint64_t request;
} seen;

static void on_welcome(void *context, const struct ipc_welcome *welcome, int plan)
{
	cr_assert_eq(context, &seen);
	cr_assert_eq(welcome->landlock_abi, 6);
	cr_assert(fd_is_kind(plan, 'm'));
	fd_close(&plan);
	seen.welcomes++;
}

static void on_refused(void *context, const struct ipc_execution_refused *refused)
{
	(void)context;
	seen.request = refused->request;
	seen.refusals++;
}

static void on_started(void *context, const struct ipc_execution_started *started, const int fds[3])
{
	int copy[3] = { fds[0], fds[1], fds[2] };

	(void)context;
	for (int i = 0; i < 3; i++)
		cr_assert(fd_is_kind(fds[i], 'p'));
	fd_close_all(copy, 3);
	seen.request = started->request;
	seen.starts++;
}

static void on_done(void *context, const struct ipc_execution_done *done)
{
	(void)context;
	seen.request = done->request;
	seen.dones++;
}

static const struct supervisor_handlers handlers = {
	.on_welcome = on_welcome,
	.on_refused = on_refused,
	.on_started = on_started,
	.on_done = on_done,
};

static void open_client(void)
{
	int fds[2];

	cr_assert_eq(channel_pair(fds), 0);
	fd = fds[0];
	cr_assert_eq(fd_set_nonblocking(fd, true), 0);
	supervisor = (struct channel){ fds[1], IPC_SUPERVISOR, IPC_FRONTEND, IPC_SETUP };
	supervisor_client_init(&client, fd, &handlers, &seen);
}

static void close_client(void)
{
	supervisor_client_done(&client);
	fd_close(&fd);
	fd_close(&supervisor.fd);
}

TestSuite(supervisor_client, .init = open_client, .fini = close_client);

static struct channel_message *take(uint32_t type)
{
	static struct channel_message message;
	enum ipc_error error = IPC_OK;

	cr_assert_eq(channel_receive(&supervisor, &message, MSG_DONTWAIT, &error), 1);
	cr_assert_eq(message.type, type);
	supervisor.phase = IPC_SERVE;
	return &message;
}

static void send_welcome(const uint8_t schema[IPC_SCHEMA_BYTES])
{
	static struct ipc_welcome welcome = { .landlock_abi = 6, .default_profile = "default" };
	const struct channel setup = { supervisor.fd, IPC_SUPERVISOR, IPC_FRONTEND, IPC_SETUP };
	int plan = fd_sealed_from_bytes("plan", "", 1);

	memcpy(welcome.schema, schema, IPC_SCHEMA_BYTES);
	cr_assert_eq(channel_send(&setup, IPC_TYPE_welcome, &welcome, &plan, 0), 0);
	fd_close(&plan);
}

static int start(uint64_t request, uint32_t argv_size)
{
	static struct ipc_execution_start message;

	memset(&message, 0, sizeof(message));
	message.request = request;
	memcpy(message.profile, "default", 8);
	memset(message.argv, 'x', argv_size);
	message.argv[argv_size - 1] = 0;
	message.argv_size = argv_size;
	return supervisor_request(&client, execution_start, &message, -1);
}

Test(supervisor_client, pipes_requests_behind_hello)
{
	cr_assert_eq(supervisor_hello(&client, LIMITS_FALLBACK), 0);
	cr_assert_eq(start(5, 4), 0);
	(void)take(IPC_TYPE_hello);
	cr_assert_eq(ipc_body(take(IPC_TYPE_execution_start), execution_start)->request, 5);
	send_welcome(ipc_schema_hash);
	cr_assert_eq(supervisor_receive(&client), 1);
	cr_assert_eq(seen.welcomes, 1);
	cr_assert_eq(supervisor_receive(&client), -EAGAIN);
}

Test(supervisor_client, hands_messages_to_handlers)
{
	const struct ipc_execution_started started = { .request = 7 };
	const struct ipc_execution_refused refused = { .request = 8, .reason = REFUSAL_BUSY };
	const struct ipc_execution_done done = { .request = 9 };
	int pipes[4];

	cr_assert_eq(supervisor_hello(&client, LIMITS_FALLBACK), 0);
	(void)take(IPC_TYPE_hello);
	send_welcome(ipc_schema_hash);
	cr_assert_eq(pipe(pipes), 0);
	cr_assert_eq(pipe(pipes + 2), 0);
	cr_assert_eq(channel_send(&supervisor, IPC_TYPE_execution_started, &started, pipes, 0), 0);
	cr_assert_eq(channel_send(&supervisor, IPC_TYPE_execution_refused, &refused, NULL, 0), 0);
	cr_assert_eq(channel_send(&supervisor, IPC_TYPE_execution_done, &done, NULL, 0), 0);
	cr_assert_eq(supervisor_receive(&client), 1);
	cr_assert_eq(supervisor_receive(&client), 1);
	cr_assert_eq(seen.request, 7);
	cr_assert_eq(supervisor_receive(&client), 1);
	cr_assert_eq(seen.request, 8);
	cr_assert_eq(supervisor_receive(&client), 1);
	cr_assert_eq(seen.request, 9);
	cr_assert_eq(seen.starts + seen.refusals + seen.dones, 3);
	fd_close_all(pipes, 4);
}

static int kept;

static void keep_plan(void *context, const struct ipc_welcome *welcome, int plan)
{
	kept = plan;
}

/* It is the handler's, and closed where there is none. */
Test(supervisor_client, the_plan_is_the_handlers)
{
	static const struct supervisor_handlers keeps = { .on_welcome = keep_plan };
	static const struct supervisor_handlers none = { .on_welcome = NULL };

	client.handlers = &keeps;
	send_welcome(ipc_schema_hash);
	cr_assert_eq(supervisor_receive(&client), 1);
	cr_assert(fd_is_kind(kept, 'm'));
	cr_assert_eq(close(kept), 0);

	client.handlers = &none;
	client.receiving.phase = IPC_SETUP;
	send_welcome(ipc_schema_hash);
	cr_assert_eq(supervisor_receive(&client), 1);
	cr_assert_lt(fcntl(kept, F_GETFD), 0, "it would have the same number");
}

Test(supervisor_client, asks_for_a_signal)
{
	const struct ipc_execution_signal *asked;

	cr_assert_eq(supervisor_hello(&client, LIMITS_FALLBACK), 0);
	cr_assert_eq(supervisor_execution_signal(&client, 5, SIGTERM), 0);
	(void)take(IPC_TYPE_hello);
	asked = ipc_body(take(IPC_TYPE_execution_signal), execution_signal);
	cr_assert_eq(asked->request, 5);
	cr_assert_eq(asked->signal, (uint32_t)SIGTERM);
}

Test(supervisor_client, asks_for_more_time)
{
	const struct ipc_execution_extend *asked;

	cr_assert_eq(supervisor_hello(&client, LIMITS_FALLBACK), 0);
	cr_assert_eq(supervisor_execution_extend(&client, 5, 1000), 0);
	(void)take(IPC_TYPE_hello);
	asked = ipc_body(take(IPC_TYPE_execution_extend), execution_extend);
	cr_assert_eq(asked->request, 5);
	cr_assert_eq(asked->wall_ms, 1000);
}

Test(supervisor_client, asks_for_the_rest_of_a_list)
{
	const struct ipc_sandbox_more more = {
		.request = 9, .is_everybody = 1, .owner = "token", .after = "one"
	};
	const struct ipc_sandbox_list *asked;

	cr_assert_eq(supervisor_hello(&client, LIMITS_FALLBACK), 0);
	(void)take(IPC_TYPE_hello);
	send_welcome(ipc_schema_hash);
	cr_assert_eq(channel_send(&supervisor, IPC_TYPE_sandbox_more, &more, NULL, 0), 0);
	cr_assert_eq(supervisor_receive(&client), 1);
	cr_assert_eq(supervisor_receive(&client), 1);
	asked = ipc_body(take(IPC_TYPE_sandbox_list), sandbox_list);
	cr_assert_eq(asked->request, 9);
	cr_assert_eq(asked->is_everybody, 1);
	cr_assert_str_eq(asked->owner, "token");
	cr_assert_str_eq(asked->after, "one");
}

Test(supervisor_client, refuses_another_builds_protocol)
{
	static const uint8_t another[IPC_SCHEMA_BYTES] = { 1 };

	send_welcome(another);
	cr_assert_eq(supervisor_receive(&client), -EPROTO);
	cr_assert_eq(seen.welcomes, 0);
}

Test(supervisor_client, refuses_service_before_welcome)
{
	const struct ipc_execution_done done = { .request = 9 };

	supervisor.phase = IPC_SERVE;
	cr_assert_eq(channel_send(&supervisor, IPC_TYPE_execution_done, &done, NULL, 0), 0);
	cr_assert_eq(supervisor_receive(&client), -EPROTO);
	cr_assert_eq(client.error, IPC_ERROR_PHASE);
	cr_assert_eq(seen.dones, 0);
}

Test(supervisor_client, sees_the_end)
{
	fd_close(&supervisor.fd);
	cr_assert_eq(supervisor_receive(&client), 0);
}

/* A supervisor that does not read: the queue grows to its bound, in order, and ends still fit. */
Test(supervisor_client, queues_what_the_socket_does_not_take)
{
	uint64_t asked = 0, taken = 0, signals = 0;
	int error = 0;

	cr_assert_eq(supervisor_hello(&client, LIMITS_FALLBACK), 0);
	while (error == 0 && asked < 100000)
		error = start(++asked, 60000);
	cr_assert_eq(error, -ENOBUFS);
	cr_assert(supervisor_has_queued(&client));
	cr_assert_leq(client.queue_bytes, (size_t)4 << 20);
	while (supervisor_execution_signal(&client, 1, SIGCONT) == 0)
		signals++;
	cr_assert_leq(client.queue_bytes, (size_t)4 << 20);
	cr_assert_eq(supervisor_execution_end(&client, 1, END_CANCELLED), 0);
	(void)take(IPC_TYPE_hello);
	while (taken + 1 < asked) {
		cr_assert_eq(supervisor_flush(&client), 0);
		cr_assert_eq(ipc_body(take(IPC_TYPE_execution_start), execution_start)->request,
			     ++taken);
	}
	cr_assert_gt(signals, 0);
	while (signals-- > 0) {
		cr_assert_eq(supervisor_flush(&client), 0);
		(void)take(IPC_TYPE_execution_signal);
	}
	cr_assert_eq(supervisor_flush(&client), 0);
	cr_assert_eq(ipc_body(take(IPC_TYPE_execution_end), execution_end)->request, 1);
	cr_assert_not(supervisor_has_queued(&client));
}

Test(supervisor_client, takes_the_code_descriptor_whatever_happens)
{
	static struct ipc_code_start message = { .request = 1,
						 .profile = "default",
						 .language = "python" };
	int code = fd_sealed_from_bytes("code", "print(1)", 8);
	struct channel_message *received;

	cr_assert_eq(supervisor_hello(&client, LIMITS_FALLBACK), 0);
	cr_assert_eq(supervisor_request(&client, code_start, &message, code), 0);
	(void)take(IPC_TYPE_hello);
	received = take(IPC_TYPE_code_start);
	cr_assert(fd_is_kind(received->fds[0], 'm'));
	channel_message_done(received);
	cr_assert_not(fd_is_kind(code, 'm'), "closed after sending");
	code = fd_sealed_from_bytes("code", "print(1)", 8);
	fd_close(&supervisor.fd);
	cr_assert_neq(supervisor_request(&client, code_start, &message, code), 0);
	cr_assert_not(fd_is_kind(code, 'm'), "closed after an error");
}

Test(supervisor_client, says_when_a_request_cannot_be_encoded)
{
	static struct ipc_execution_start message;

	cr_assert_eq(supervisor_hello(&client, LIMITS_FALLBACK), 0);
	message.argv_size = IPC_ARGV_MAX + 1;
	cr_assert_eq(supervisor_request(&client, execution_start, &message, -1), -EPROTO);
}
