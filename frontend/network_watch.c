/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/network_watch.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "common/channel.h"
#include "common/fd.h"
#include "frontend/profile_names.h"

/* msp-cable answers at once, unless it is stopped. */
#define ANSWER_MS 500
#define LOOK_MS 5000 /* a supervisor may have other work */

enum network_watched network_watched(const struct plan *plan, const char *profile)
{
	if (!plan->bytes)
		return NETWORK_UNWATCHED;
	if (plan_profile_find(plan, profile) < 0)
		profile = NULL;
	return profiles_have_approval(plan, profile) ? NETWORK_WATCHED_FIRST
	       : profiles_have_hosts(plan, profile)  ? NETWORK_WATCHED
						     : NETWORK_UNWATCHED;
}

int network_watch_execution(struct supervisor_client *client, uint64_t request, const char *owner)
{
	struct ipc_network_watch watch = { .request = request };
	int ends[2];

	(void)strncpy(watch.owner, owner, sizeof(watch.owner) - 1);
	if (channel_pair(ends) != 0)
		return -1;
	if (supervisor_network_watch(client, &watch, ends[1]) == 0)
		return ends[0];
	fd_close(&ends[0]);
	return -1;
}

void network_watch_ask(int fd)
{
	(void)shutdown(fd, SHUT_WR); /* it may have ended with its sandbox */
}

/* Take what has come. Return whether this is all; a breach of the protocol ends it. */
static bool take_messages(int fd, struct network_denials *into,
			  void (*on_connection)(const struct ipc_network_connection *connection),
			  void (*on_host)(const struct ipc_network_host *host))
{
	static struct channel_message message; /* too large for the stack; one thread */
	const struct channel channel = { fd, IPC_FRONTEND, IPC_GATEWAY, IPC_SERVE };
	enum ipc_error wrong;
	int result;

	while ((result = channel_receive(&channel, &message, MSG_DONTWAIT, &wrong)) == 1) {
		if (message.type == IPC_TYPE_network_connection && on_connection)
			on_connection(ipc_body(&message, network_connection));
		else if (message.type == IPC_TYPE_network_host && on_host)
			on_host(ipc_body(&message, network_host));
		else if (message.type == IPC_TYPE_network_denial &&
			 into->count <= NETWORK_DENIALS_MAX)
			into->items[into->count++] = *ipc_body(&message, network_denial);
		else
			return true;
	}
	return result != -EAGAIN;
}

bool network_watch_take(int fd, struct network_denials *into)
{
	return take_messages(fd, into, NULL, NULL);
}

int network_look(struct supervisor_client *client, const struct ipc_network_watch *at,
		 void (*on_connection)(const struct ipc_network_connection *connection),
		 void (*on_host)(const struct ipc_network_host *host), struct network_denials *into)
{
	struct pollfd entry = { .events = POLLIN };
	int ends[2];
	int error = channel_pair(ends);

	if (error)
		return error;
	entry.fd = ends[0];
	error = supervisor_network_watch(client, at, ends[1]);
	network_watch_ask(entry.fd);
	while (!error && poll(&entry, 1, LOOK_MS) > 0 &&
	       !take_messages(entry.fd, into, on_connection, on_host))
		continue;
	fd_close(&entry.fd);
	return error;
}

void network_watch_collect(int *fd, struct network_denials *into)
{
	struct pollfd entry = { .fd = *fd, .events = POLLIN };

	if (*fd < 0)
		return;
	network_watch_ask(*fd);
	while (poll(&entry, 1, ANSWER_MS) > 0 && !network_watch_take(*fd, into))
		continue;
	fd_close(fd);
}
