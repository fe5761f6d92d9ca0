/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/network_watch.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "gateway/hosts/list.h"

/* msp-cable answers at once, unless it is stopped. */
#define ANSWER_MS 500
#define LOOK_MS 5000 /* a supervisor may have other work */

int network_watch_execution(struct supervisor_client *client, uint64_t request)
{
	const struct ipc_network_watch watch = { .request = request };

	return network_watch_begin(client, &watch, NULL);
}

/* Return whether a person or a model can read the host: also an empty one, for further or all
 * hosts.
 */
static bool is_readable(const char *host)
{
	return host[0] == '\0' || host_is_written(host);
}

/* Keep a connection or a host. False: there is no view for it, no room, or its text is no host. */
static bool keep_row(const struct channel_message *message, struct network_view *view)
{
	if (view && message->type == IPC_TYPE_network_connection &&
	    is_readable(ipc_body(message, network_connection)->host) &&
	    view->connection_count < NETWORK_VIEW_CONNECTIONS)
		view->connections[view->connection_count++] =
			*ipc_body(message, network_connection);
	else if (view && message->type == IPC_TYPE_network_host &&
		 is_readable(ipc_body(message, network_host)->host) &&
		 view->host_count < NETWORK_VIEW_HOSTS)
		view->hosts[view->host_count++] = *ipc_body(message, network_host);
	else
		return false;
	return true;
}

/* Take what has come. Return whether this is all; a breach of the protocol ends it. */
static bool take_messages(int fd, struct network_denials *into, struct network_view *view)
{
	static struct channel_message message; /* too large for the stack; one thread */
	const struct channel channel = { fd, IPC_FRONTEND, IPC_GATEWAY, IPC_SERVE };
	enum ipc_error wrong;
	int result;

	while ((result = channel_receive(&channel, &message, MSG_DONTWAIT, &wrong)) == 1) {
		if (message.type == IPC_TYPE_network_denial &&
		    is_readable(ipc_body(&message, network_denial)->host) &&
		    into->count < NETWORK_COUNTED_MAX)
			into->items[into->count++] = *ipc_body(&message, network_denial);
		else if (!keep_row(&message, view))
			return true;
	}
	return result != -EAGAIN;
}

bool network_watch_take(int fd, struct network_denials *into)
{
	return take_messages(fd, into, NULL);
}

bool network_look_take(int fd, struct network_view *into)
{
	return take_messages(fd, &into->denials, into);
}

int network_watch_begin(struct supervisor_client *client, const struct ipc_network_watch *at,
			const struct ipc_network_grant *grant)
{
	struct channel channel = { -1, IPC_FRONTEND, IPC_GATEWAY, IPC_SERVE };
	int ends[2];
	int error = channel_pair(ends);

	if (error)
		return error;
	channel.fd = ends[0];
	if (grant)
		error = channel_send(&channel, IPC_TYPE_network_grant, grant, NULL, MSG_DONTWAIT);
	if (error)
		fd_close(&ends[1]);
	else
		error = supervisor_request(client, network_watch, at, ends[1]);
	if (!error)
		return channel.fd;
	fd_close(&channel.fd);
	return error;
}

int network_look(struct supervisor_client *client, const struct ipc_network_watch *at,
		 struct network_view *into)
{
	struct pollfd entry = { .fd = network_watch_begin(client, at, NULL), .events = POLLIN };
	const int error = entry.fd < 0 ? entry.fd : 0;

	while (!error && poll(&entry, 1, LOOK_MS) > 0 && !network_look_take(entry.fd, into))
		continue;
	fd_close(&entry.fd);
	return error;
}

void network_watch_collect(struct supervisor_client *client, uint64_t request,
			   struct network_denials *into)
{
	struct pollfd entry = { .fd = network_watch_execution(client, request), .events = POLLIN };

	while (entry.fd >= 0 && poll(&entry, 1, ANSWER_MS) > 0 &&
	       !network_watch_take(entry.fd, into))
		continue;
	fd_close(&entry.fd);
}
