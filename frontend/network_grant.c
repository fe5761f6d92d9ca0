/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/network_grant.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "frontend/network_watch.h"
#include "gateway/hosts/list.h"

/* msp-cable answers when the grant is in the audit log, whose lock another process may have. */
#define ANSWER_MS 10000

const char *network_grant_read(const char *host, uint32_t port, struct ipc_network_grant *ret)
{
	struct host_address address;
	enum host_fault fault;

	ret->port = port ? port : HOST_PORT_DEFAULT;
	if (host_address_read(host, &address))
		return "a host to add has a name, and is no address";
	if (ret->port > UINT16_MAX)
		return "a port is a number from 1 to 65535";
	if (ret->port == HOST_PORT_DNS)
		return "port 53 is the sandbox's own resolver";
	fault = host_name_read(host, strlen(host), ret->host);
	if (fault != HOST_SOUND)
		return host_fault_rule(fault);
	return host_name_never(ret->host) ? "no list can have names below localhost and invalid"
					  : NULL;
}

bool network_grant_take(int fd, int *ret_error)
{
	static struct channel_message message; /* too large for the stack; one thread */
	const struct channel channel = { fd, IPC_FRONTEND, IPC_GATEWAY, IPC_SERVE };
	enum ipc_error wrong;
	int result = 1;

	*ret_error = -ENOENT;
	while (result == 1) {
		result = channel_receive(&channel, &message, MSG_DONTWAIT, &wrong);
		if (result == 1 && message.type == IPC_TYPE_network_granted) {
			*ret_error = -(int)ipc_body(&message, network_granted)->error;
			return true;
		}
	}
	return result != -EAGAIN;
}

int network_grant(struct supervisor_client *client, const struct ipc_network_watch *watch,
		  const struct ipc_network_grant *grant)
{
	struct pollfd entry = { .fd = network_watch_begin(client, watch, grant), .events = POLLIN };
	int error = entry.fd < 0 ? entry.fd : -ETIMEDOUT;

	while (entry.fd >= 0 && poll(&entry, 1, ANSWER_MS) > 0 &&
	       !network_grant_take(entry.fd, &error))
		error = -ETIMEDOUT;
	fd_close(&entry.fd);
	return error;
}
