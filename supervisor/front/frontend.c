/* SPDX-License-Identifier: Apache-2.0 */
#include "front/frontend.h"

#include <errno.h>
#include <signal.h>

#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_factory.h"
#include "common/kernel.h"
#include "common/log.h"
#include "persistent/layers_job.h"
#include "run/deferred.h"
#include "run/execution.h"

struct frontend *frontend_add(int fd, bool is_connection, frontend_callback *on_message)
{
	struct frontend *frontend = supervisor.frontends;

	while (frontend < supervisor.frontends + FRONTENDS_MAX && frontend->state != FRONTEND_FREE)
		frontend++;
	if (frontend == supervisor.frontends + FRONTENDS_MAX) {
		fd_close(&fd);
		return NULL;
	}
	*frontend = (struct frontend){ .state = FRONTEND_FREE,
				       .number = ++supervisor.frontends_started,
				       .channel = { fd, IPC_SUPERVISOR, IPC_FRONTEND, IPC_SETUP },
				       .client.fd = -1,
				       .is_connection = is_connection,
				       .broker = -1,
				       .on_message = on_message };
	if (!supervisor.is_holding && loop_add(&frontend->watch, fd, on_message, frontend) != 0) {
		fd_close(&fd);
		return NULL;
	}
	frontend->state = FRONTEND_OPEN;
	return frontend;
}

/* The factory is asked to start a broker that talks to us through the other end of a channel,
 * `broker_end`. */
static int ask_for_broker(struct frontend *frontend, const int stdio[3], int broker_end)
{
	const uint32_t slot = BROKER_SLOT + (uint32_t)(frontend - supervisor.frontends);
	const struct ipc_helper_start request = { .slot = slot };
	const int fds[] = { stdio[0], stdio[1], stdio[2], broker_end };
	const int error = state_send(&supervisor.factory, IPC_TYPE_helper_start, &request, fds);

	frontend->awaits_broker = error == 0;
	frontend->is_broker = true;
	return error;
}

int frontend_add_broker(const int stdio[3], frontend_callback *on_message)
{
	struct frontend *frontend;
	int ends[2];
	int error = channel_pair(ends);

	if (error)
		return error;
	frontend = frontend_add(ends[0], false, on_message);
	error = frontend ? ask_for_broker(frontend, stdio, ends[1]) : -ENFILE;
	fd_close(&ends[1]);
	return error;
}

/* The msp that waits for its client's end says nothing more: whatever comes is that end. */
static void on_client(void *context)
{
	frontend_end(context, CLIENT_END_DONE);
}

int frontend_hand_over(struct frontend *frontend, const int stdio[3])
{
	int ends[2];
	int error = channel_pair(ends);

	if (error)
		return error;
	loop_remove(&frontend->watch);
	frontend->client = frontend->channel;
	frontend->is_connection = false;
	frontend->channel = (struct channel){ ends[0], IPC_SUPERVISOR, IPC_FRONTEND, IPC_SETUP };
	if (!supervisor.is_holding)
		error = loop_add(&frontend->watch, ends[0], frontend->on_message, frontend);
	if (!error)
		error = loop_add(&frontend->client_watch, frontend->client.fd, on_client, frontend);
	if (!error)
		error = ask_for_broker(frontend, stdio, ends[1]);
	fd_close(&ends[1]);
	return error;
}

static void try_free(struct frontend *frontend)
{
	if (frontend->state == FRONTEND_CLOSED && !frontend->awaits_broker && frontend->broker < 0)
		frontend->state = FRONTEND_FREE;
}

static void on_broker(void *context)
{
	struct frontend *frontend = context;

	loop_close(&frontend->broker_watch, &frontend->broker);
	try_free(frontend);
}

static struct frontend *find_waiting(uint32_t slot)
{
	struct frontend *frontend;

	if (slot < BROKER_SLOT || slot >= BROKER_SLOT + FRONTENDS_MAX)
		return NULL;
	frontend = &supervisor.frontends[slot - BROKER_SLOT];
	return frontend->awaits_broker ? frontend : NULL;
}

int frontend_broker_started(uint32_t slot, int *pidfd)
{
	struct frontend *frontend = find_waiting(slot);

	if (!frontend)
		return -EPROTO;
	frontend->awaits_broker = false;
	frontend->broker = fd_take(pidfd);
	if (frontend->state == FRONTEND_CLOSED)
		(void)kernel_pidfd_send_signal(frontend->broker, SIGKILL); /* ESRCH: it is gone */
	return loop_add(&frontend->broker_watch, frontend->broker, on_broker, frontend);
}

int frontend_broker_failed(uint32_t slot)
{
	struct frontend *frontend = find_waiting(slot);

	if (!frontend)
		return -EPROTO;
	frontend->awaits_broker = false;
	frontend_end(frontend, CLIENT_END_FAILED); /* unless it has ended */
	try_free(frontend);
	return 0;
}

void frontend_tell_client_end(const struct channel *client, enum client_end_reason reason)
{
	const struct ipc_client_end end = { .reason = reason };

	(void)state_send(client, IPC_TYPE_client_end, &end, NULL);
}

void frontend_end(struct frontend *frontend, enum client_end_reason reason)
{
	if (frontend->state != FRONTEND_OPEN)
		return;
	frontend->state = FRONTEND_CLOSED;
	execution_abandon(frontend);
	layers_job_abandon(frontend);
	deferred_forget(frontend);
	loop_close(&frontend->watch, &frontend->channel.fd);
	loop_remove(&frontend->client_watch);
	if (frontend->client.fd >= 0)
		frontend_tell_client_end(&frontend->client, reason);
	fd_close(&frontend->client.fd);
	fd_close_all(frontend->workspaces, frontend->workspace_count);
	frontend->workspace_count = 0;
	/* It goes by itself, but is not waited for. ESRCH, EBADF: it is gone. */
	(void)kernel_pidfd_send_signal(frontend->broker, SIGKILL);
	try_free(frontend);
	if (!supervisor.is_service)
		supervisor.is_ending = true;
}

uint32_t frontend_count(bool with_silent)
{
	uint32_t count = 0;

	FOR_EACH_FRONTEND (frontend)
		count += frontend->state == FRONTEND_OPEN &&
			 (with_silent || !frontend->is_connection ||
			  frontend->channel.phase != IPC_SETUP);
	return count;
}

static void hear_frontend(struct frontend *frontend)
{
	const int error =
		loop_add(&frontend->watch, frontend->channel.fd, frontend->on_message, frontend);

	if (!error)
		return;
	log_line("a frontend cannot be heard: %s", errno_text(-error));
	if (!supervisor.is_service)
		state_note_fault();
	frontend_end(frontend, CLIENT_END_FAILED);
}

/* Only the factory's answers tell that its channel has room again. */
void frontend_regulate(void)
{
	const uint32_t most = supervisor.is_holding ? STARTS_MAX / 2 : STARTS_MAX;
	const bool hold = supervisor.starts_pending >= most || supervisor.is_probing;

	if (hold == supervisor.is_holding)
		return;
	supervisor.is_holding = hold;
	FOR_EACH_FRONTEND (frontend) {
		if (frontend->state != FRONTEND_OPEN || frontend->channel.fd < 0)
			continue;
		if (hold)
			loop_remove(&frontend->watch);
		else if (!frontend->watch.on_ready)
			hear_frontend(frontend);
	}
}

void frontend_tell_all(uint32_t type, const void *message, const int *fds)
{
	FOR_EACH_FRONTEND (frontend) {
		/* A frontend that does not read until its channel is full is no longer served. */
		if (frontend->state == FRONTEND_OPEN && frontend->channel.phase == IPC_SERVE &&
		    state_send(&frontend->channel, type, message, fds) == -EAGAIN)
			frontend_end(frontend, CLIENT_END_FAILED);
	}
}

void frontend_let_all_go(void)
{
	FOR_EACH_FRONTEND (frontend) {
		if (frontend->state != FRONTEND_OPEN)
			continue;
		if (frontend->client.fd >= 0)
			frontend_tell_client_end(&frontend->client, CLIENT_END_STOPPING);
		deferred_forget(frontend);
		fd_close(&frontend->channel.fd);
	}
}
