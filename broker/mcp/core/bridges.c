/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/bridges.h"

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "lib/heap/chain.h"
#include "lib/heap/memory.h"

/* The kernel closes the port with msp-bridge, which ends with its channel. */
void bridges_close(struct open_bridge *bridge)
{
	CHAIN_REMOVE(bridge->host->bridges, bridge, next);
	event_free(bridge->event);
	fd_close(&bridge->control);
	free(bridge);
}

/* Take the end of msp-bridge, which says nothing else after its beginning. */
static void on_end(evutil_socket_t fd, short what, void *argument)
{
	bridges_close(argument);
}

void bridges_keep(const struct session *session, int control, const char *sandbox, uint32_t port,
		  uint32_t host_port)
{
	struct open_bridge *bridge = memory_get_zeroed(1, sizeof(*bridge));

	*bridge = (struct open_bridge){ .next = session->host->bridges,
					.host = session->host,
					.owner = session_owner(session),
					.control = control,
					.port = port,
					.host_port = host_port };
	memcpy(bridge->sandbox, sandbox, sizeof(bridge->sandbox));
	bridge->event = event_new(session->host->base, control, EV_READ, on_end, bridge);
	if (!bridge->event || event_add(bridge->event, NULL) != 0)
		give_up("watching a bridge");
	session->host->bridges = bridge;
}

struct open_bridge *bridges_find(const struct session *session, const char *sandbox, uint32_t port)
{
	const struct execution_owner owner = session_owner(session);
	struct open_bridge *bridge = session->host->bridges;

	while (bridge && !(execution_owner_is(&bridge->owner, &owner) && bridge->port == port &&
			   strcmp(bridge->sandbox, sandbox) == 0))
		bridge = bridge->next;
	return bridge;
}

bool bridges_have_room(const struct session *session)
{
	const struct execution_owner owner = session_owner(session);
	unsigned int count = 0;

	for (const struct open_bridge *b = session->host->bridges; b; b = b->next)
		count += execution_owner_is(&b->owner, &owner);
	return count < BRIDGES_OWN_MAX;
}

void bridges_end(struct host *host, const struct execution_owner *owner)
{
	struct open_bridge *bridge = host->bridges;

	while (bridge) {
		struct open_bridge *next = bridge->next;

		if (!owner || execution_owner_is(&bridge->owner, owner))
			bridges_close(bridge);
		bridge = next;
	}
}
