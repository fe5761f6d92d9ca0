/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/servers.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "common/ipc/ipc_gateway.h"
#include "common/ipc/ipc_http.h"
#include "gateway/cable/hub.h"

static struct server {
	bool is_used, has_begun;
	ino_t inode;
	uint32_t profile;
	int fds[SERVER_FDS]; /* the offer's; -1: a server has them */
} servers[HTTP_SERVERS_MAX];

static uint32_t offered; /* offers so far that had a place of their own */

static struct server *find_server(ino_t inode, uint32_t profile)
{
	for (uint32_t i = 0; i < HTTP_SERVERS_MAX; i++) {
		if (servers[i].is_used && servers[i].inode == inode &&
		    servers[i].profile == profile)
			return &servers[i];
	}
	return NULL;
}

/* Have msp-http fork the server, and give msp-egress the other end. */
static int begin_server(const struct hub *hub, struct server *server)
{
	const struct ipc_http_begin begin = { server->profile };
	const struct ipc_egress_http given = { (uint32_t)(server - servers) };
	const int fds[] = { server->fds[SERVER_FD_EGRESS], server->fds[SERVER_FD_LAUNCHER],
			    server->fds[SERVER_FD_PLAN] };
	int error = channel_send(&hub->http, IPC_TYPE_http_begin, &begin, fds, 0);

	if (!error)
		error = channel_send(&hub->egress, IPC_TYPE_egress_http, &given,
				     &server->fds[SERVER_FD_OTHER], 0);
	fd_close_all(server->fds, SERVER_FDS);
	server->has_begun = true;
	return error;
}

/* A launcher keeps fewer servers than there are places: the oldest is one that it has left. */
int servers_offer(const struct hub *hub, uint32_t profile, const int fds[SERVER_FDS])
{
	struct stat is = { .st_ino = 0 };
	const int error = fstat(fds[SERVER_FD_PLAN], &is) == 0 ? 0 : -errno;
	struct server *server = find_server(is.st_ino, profile);

	if (!server) {
		server = &servers[offered++ % HTTP_SERVERS_MAX];
		server->has_begun = false;
	}
	if (server->is_used)
		fd_close_all(server->fds, SERVER_FDS);
	*server = (struct server){ true, server->has_begun, is.st_ino, profile, { -1 } };
	memcpy(server->fds, fds, sizeof(server->fds));
	return error || !server->has_begun ? error : begin_server(hub, server);
}

int servers_begin(const struct hub *hub, ino_t plan, uint32_t profile, uint32_t *ret)
{
	struct server *server = find_server(plan, profile);

	if (!server)
		return -ENOENT;
	*ret = (uint32_t)(server - servers);
	return server->has_begun ? 0 : begin_server(hub, server);
}
