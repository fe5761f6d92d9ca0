/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/supervisor_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_posture.h"
#include "common/ipc/ipc_refused.h"
#include "common/limits.h"
#include "lib/heap/memory.h"

/* A queued start is up to 128 KiB; what does not fit in here waits at the client. */
#define QUEUE_BYTES_MAX ((size_t)4 << 20)

struct supervisor_queued {
	struct supervisor_queued *next;
	uint32_t type;
	int fd;
	size_t size;
	_Alignas(8) uint8_t message[];
};

static struct channel frontend_channel(int fd, enum ipc_phase phase)
{
	return (struct channel){
		.fd = fd, .self = IPC_FRONTEND, .peer = IPC_SUPERVISOR, .phase = phase
	};
}

void supervisor_client_init(struct supervisor_client *client, int fd,
			    const struct supervisor_handlers *handlers, void *context)
{
	memset(client, 0, sizeof(*client));
	client->handlers = handlers;
	client->context = context;
	client->sending = frontend_channel(fd, IPC_SETUP);
	client->receiving = frontend_channel(fd, IPC_SETUP);
}

static void drop_first(struct supervisor_client *client)
{
	struct supervisor_queued *first = client->queue_first;

	client->queue_first = first->next;
	if (!client->queue_first)
		client->queue_last = NULL;
	client->queue_bytes -= first->size;
	fd_close(&first->fd);
	free(first);
}

void supervisor_client_done(struct supervisor_client *client)
{
	while (client->queue_first)
		drop_first(client);
}

static void enqueue_message(struct supervisor_client *client, uint32_t type, const void *message,
			    int fd)
{
	const size_t size = ipc_message(type)->struct_size;
	struct supervisor_queued *queued = memory_get(sizeof(*queued) + size);

	queued->next = NULL;
	queued->type = type;
	queued->fd = fd;
	queued->size = size;
	memcpy(queued->message, message, size);
	if (client->queue_last)
		client->queue_last->next = queued;
	else
		client->queue_first = queued;
	client->queue_last = queued;
	client->queue_bytes += size;
}

/* Takes `fd`. Order is kept: nothing overtakes the queue. */
static int send_or_queue(struct supervisor_client *client, uint32_t type, const void *message,
			 int fd)
{
	int error = -EAGAIN;

	if (!client->queue_first)
		error = channel_send(&client->sending, type, message, &fd, 0);
	if (error == -EAGAIN) {
		enqueue_message(client, type, message, fd);
		if (client->handlers->on_queued)
			client->handlers->on_queued(client->context);
		return 0;
	}
	fd_close(&fd);
	return error;
}

int supervisor_hello(struct supervisor_client *client, uint32_t limits)
{
	struct ipc_hello hello = { .limits = limits };
	int error;

	memcpy(hello.schema, ipc_schema_hash, sizeof(hello.schema));
	error = channel_send(&client->sending, IPC_TYPE_hello, &hello, NULL, 0);
	if (!error)
		client->sending.phase = IPC_SERVE;
	return error;
}

static bool has_room(const struct supervisor_client *client, size_t size)
{
	return !client->queue_first || client->queue_bytes + size <= QUEUE_BYTES_MAX;
}

int supervisor_request_of(struct supervisor_client *client, uint32_t type, const void *message,
			  int fd)
{
	if (!has_room(client, ipc_message(type)->struct_size)) {
		fd_close(&fd);
		return -ENOBUFS;
	}
	return send_or_queue(client, type, message, fd);
}

int supervisor_execution_end(struct supervisor_client *client, uint64_t request,
			     enum end_reason reason)
{
	const struct ipc_execution_end end = { .request = request, .reason = reason };

	return send_or_queue(client, IPC_TYPE_execution_end, &end, -1);
}

int supervisor_execution_signal(struct supervisor_client *client, uint64_t request, uint32_t signal)
{
	const struct ipc_execution_signal message = { .request = request, .signal = signal };

	return supervisor_request(client, execution_signal, &message, -1);
}

int supervisor_execution_extend(struct supervisor_client *client, uint64_t request,
				uint32_t wall_ms)
{
	const struct ipc_execution_extend message = { .request = request, .wall_ms = wall_ms };

	return supervisor_request(client, execution_extend, &message, -1);
}

void supervisor_goodbye(struct supervisor_client *client)
{
	const struct ipc_goodbye goodbye = { .exit_code = 0 };

	/* One who is gone, or does not listen, hears of our end anyway. */
	(void)channel_send(&client->sending, IPC_TYPE_goodbye, &goodbye, NULL, 0);
}

bool supervisor_has_queued(const struct supervisor_client *client)
{
	return client->queue_first != NULL;
}

int supervisor_flush(struct supervisor_client *client)
{
	while (client->queue_first) {
		const struct supervisor_queued *first = client->queue_first;
		const int error =
			channel_send(&client->sending, first->type, first->message, &first->fd, 0);

		if (error == -EAGAIN)
			return 0;
		if (error)
			return error;
		drop_first(client);
	}
	return 0;
}

/* Hand a message on that has no descriptor. */
#define TAKE(handler, name)                                                                        \
	static void take_##handler(struct supervisor_client *client,                               \
				   struct channel_message *message)                                \
	{                                                                                          \
		if (client->handlers->on_##handler)                                                \
			client->handlers->on_##handler(client->context, ipc_body(message, name));  \
	}
TAKE(refused, execution_refused)
TAKE(extended, execution_extended)
TAKE(done, execution_done)
TAKE(posture, profile_posture)
TAKE(sandbox, sandbox_info)
TAKE(checkpoint, checkpoint_info)
TAKE(request_done, request_done)
TAKE(changes_done, changes_done)

static void take_welcome(struct supervisor_client *client, struct channel_message *message)
{
	client->receiving.phase = IPC_SERVE;
	if (client->handlers->on_welcome)
		client->handlers->on_welcome(client->context, ipc_body(message, welcome),
					     channel_take_fd(message, 0));
}

static void take_client_end(struct supervisor_client *client, struct channel_message *message)
{
	if (client->handlers->on_turned_away)
		client->handlers->on_turned_away(client->context,
						 ipc_body(message, client_end)->reason);
}

static void take_policy(struct supervisor_client *client, struct channel_message *message)
{
	if (client->handlers->on_policy)
		client->handlers->on_policy(client->context, ipc_body(message, policy_changed),
					    channel_take_fd(message, 0));
}

static void take_started(struct supervisor_client *client, struct channel_message *message)
{
	if (!client->handlers->on_started)
		return;
	const int fds[3] = { message->fds[0], message->fds[1], message->fds[2] };

	memset(message->fds, -1, sizeof(message->fds));
	client->handlers->on_started(client->context, ipc_body(message, execution_started), fds);
}

static void take_tty(struct supervisor_client *client, struct channel_message *message)
{
	if (client->handlers->on_tty)
		client->handlers->on_tty(client->context, ipc_body(message, execution_tty),
					 channel_take_fd(message, 0));
}

static void take_more(struct supervisor_client *client, struct channel_message *message)
{
	const struct ipc_sandbox_more *more = ipc_body(message, sandbox_more);
	struct ipc_sandbox_list next = { .head = more->head, .is_everybody = more->is_everybody };

	memcpy(next.after, more->after, sizeof(next.after));
	/* Whom it cannot be sent to has ended, as the channel will say. */
	(void)send_or_queue(client, IPC_TYPE_sandbox_list, &next, -1);
}

static void take_changes(struct supervisor_client *client, struct channel_message *message)
{
	if (client->handlers->on_changes)
		client->handlers->on_changes(client->context, ipc_body(message, changes_started),
					     message->fd_count > 0 ? channel_take_fd(message, 0)
								   : -1);
}

typedef void take(struct supervisor_client *client, struct channel_message *message);

/* Every message that the table allows from the supervisor to a frontend. */
static take *const takers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_welcome] = take_welcome,
	[IPC_TYPE_execution_refused] = take_refused,
	[IPC_TYPE_execution_started] = take_started,
	[IPC_TYPE_execution_tty] = take_tty,
	[IPC_TYPE_execution_done] = take_done,
	[IPC_TYPE_policy_changed] = take_policy,
	[IPC_TYPE_profile_posture] = take_posture,
	[IPC_TYPE_sandbox_info] = take_sandbox,
	[IPC_TYPE_sandbox_more] = take_more,
	[IPC_TYPE_checkpoint_info] = take_checkpoint,
	[IPC_TYPE_request_done] = take_request_done,
	[IPC_TYPE_changes_started] = take_changes,
	[IPC_TYPE_changes_done] = take_changes_done,
	[IPC_TYPE_client_end] = take_client_end,
	[IPC_TYPE_execution_extended] = take_extended,
};

int supervisor_receive(struct supervisor_client *client)
{
	static struct channel_message message; /* too large for the stack; one thread */
	int result = channel_receive(&client->receiving, &message, 0, &client->error);

	/* One execution that cannot be followed is no reason to lose the others. */
	if (result == -EMFILE &&
	    (message.type == IPC_TYPE_execution_started || message.type == IPC_TYPE_execution_tty ||
	     message.type == IPC_TYPE_changes_started))
		result = 1;
	if (result != 1)
		return result;
	if (message.type == IPC_TYPE_welcome &&
	    memcmp(ipc_body(&message, welcome)->schema, ipc_schema_hash, IPC_SCHEMA_BYTES) != 0) {
		client->error = IPC_ERROR_TYPE; /* another build's protocol */
		return -EPROTO;
	}
	if (!takers[message.type]) {
		channel_message_done(&message);
		client->error = IPC_ERROR_DIRECTION;
		return -EPROTO;
	}
	takers[message.type](client, &message);
	channel_message_done(&message);
	return 1;
}
