/* SPDX-License-Identifier: Apache-2.0
 *
 * The frontend's side of the conversation with msp-cable: the refusals of the network during an
 * execution, as msp-cable counted them.
 */
#ifndef FRONTEND_NETWORK_WATCH_H
#define FRONTEND_NETWORK_WATCH_H

#include <stdbool.h>

#include "common/ipc/ipc_network.h"
#include "frontend/supervisor_client.h"

struct network_denials {
	uint32_t count;
	struct ipc_network_denial items[NETWORK_COUNTED_MAX];
};

/* Ask for the refusals of the execution with the number `request`, whose end said that it has some.
 * Return a descriptor for the functions below, the caller's; or -1: there is no answer. */
int network_watch_execution(struct supervisor_client *client, uint64_t request);

/* The network of a sandbox, or the hosts that are asked for: as much as msp-cable shows. */
#define NETWORK_VIEW_CONNECTIONS 96U
#define NETWORK_VIEW_HOSTS 256U
struct network_view {
	uint32_t connection_count, host_count;
	struct ipc_network_connection connections[NETWORK_VIEW_CONNECTIONS];
	struct ipc_network_host hosts[NETWORK_VIEW_HOSTS];
	struct network_denials denials; /* the last ones */
};

/* Look at the network of a sandbox that runs; or, if `at` names none, at the hosts that are asked
 * for. 0 or -errno, with what there is in *into, which is empty before. */
int network_look(struct supervisor_client *client, const struct ipc_network_watch *at,
		 struct network_view *into);

/* Begin to look; with a grant (else NULL), ask for that: for the sandbox that `at` names, or
 * without one for the client of the message. A broker's own client: `at` has the owner of its
 * sandboxes and nothing else, the message no client. Return a descriptor for network_look_take(),
 * or for network_grant_take(), the caller's, which is to be waited for; or -errno. */
int network_watch_begin(struct supervisor_client *client, const struct ipc_network_watch *at,
			const struct ipc_network_grant *grant);

/* Take what has come. Return whether this is all; a breach of the protocol ends it. */
bool network_look_take(int fd, struct network_view *into);

/* Take the counts that have come. Return whether these are all; a breach of the protocol ends them.
 */
bool network_watch_take(int fd, struct network_denials *into);

/* Ask for the refusals of an execution, and wait for them a moment. */
void network_watch_collect(struct supervisor_client *client, uint64_t request,
			   struct network_denials *into);

#endif
