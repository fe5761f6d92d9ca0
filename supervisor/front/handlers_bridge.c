/* SPDX-License-Identifier: Apache-2.0
 *
 * Bridges: ports of the host that lead into sandboxes. The supervisor lets an msp-bridge into a
 * sandbox, and neither makes a connection nor sees a byte of one.
 */
#include "front/handlers.h"

#include <errno.h>

#include "base/reply.h"
#include "common/ipc/ipc_bridge.h"
#include "common/ipc/refusal.h"
#include "run/sandbox.h"

/* Hand the channel of an msp-bridge that is to be started to the process that has the host's
 * network: the msp of a client that was handed over, or the path opener. */
static int make_bridge(const struct frontend *frontend, const struct ipc_bridge_start *from,
		       const int *fds)
{
	const struct ipc_client_bridge client = { from->port, from->host_port };
	const struct ipc_bridge_bind bind = { from->port, from->host_port };

	return frontend->client.fd >= 0
		       ? state_send(&frontend->client, IPC_TYPE_client_bridge, &client, fds)
		       : state_send(&supervisor.launcher, IPC_TYPE_bridge_bind, &bind, fds);
}

/* No request of an agent opens a port of the host unless the profile lets its user agree to it. */
int handle_bridge_start(void *context, struct channel_message *message)
{
	const struct ipc_bridge_start *from = ipc_body(message, bridge_start);
	const struct frontend *frontend = context;
	struct ipc_bridge_give give = { frontend->number, from->port, from->host_port, "", "" };
	char detail[IPC_LIST_MAX] = "";
	struct sandbox *sandbox;
	enum refusal refusal;

	if (from->operation > BRIDGE_MAKE)
		return -EPROTO;
	refusal = sandbox_own(&from->head, &sandbox, detail);
	if (!refusal && (sandbox->network < 0 || sandbox->pidfd < 0))
		refusal = REFUSAL_BRIDGE;
	if (!refusal && frontend->is_broker && sandbox_profile(sandbox)->bridge != PLAN_BRIDGE_ASK)
		refusal = REFUSAL_BRIDGE_PERSON;
	if (refusal)
		return reply_refuse(frontend, from->request, refusal, detail, 0);
	const int fds[] = { message->fds[0], sandbox->network, sandbox->pidfd };

	memcpy(give.sandbox, sandbox->persistent.id, sizeof(give.sandbox));
	memcpy(give.name, sandbox->persistent.meta->name, sizeof(give.name));
	return reply_done(
		frontend, from->request,
		from->operation == BRIDGE_MAKE
			? make_bridge(frontend, from, fds)
			: state_send(&supervisor.launcher, IPC_TYPE_bridge_give, &give, fds));
}

/* Without a path opener there is no bridge, and the closed channel says so. */
int handle_bridge_look(void *context, struct channel_message *message)
{
	const struct ipc_bridge_show show = { ipc_body(message, bridge_look)->close };
	const struct frontend *frontend = context;

	if (frontend->is_broker)
		return -EPROTO;
	(void)state_send(&supervisor.launcher, IPC_TYPE_bridge_show, &show, message->fds);
	return 0;
}
