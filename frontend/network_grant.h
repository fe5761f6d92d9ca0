/* SPDX-License-Identifier: Apache-2.0
 *
 * The frontend's side of adding hosts to what sandboxes may reach, and of taking them away:
 * msp-cable is asked over the channel of a network_watch.
 */
#ifndef FRONTEND_NETWORK_GRANT_H
#define FRONTEND_NETWORK_GRANT_H

#include <stdbool.h>

#include "common/ipc/ipc_network.h"
#include "frontend/supervisor_client.h"

/* Read the name of a host with its port, or with 443 if it is 0, into a message. NULL, or the rule
 * that it breaks, in words: "a name has at most 253 bytes". */
const char *network_grant_read(const char *host, uint32_t port, struct ipc_network_grant *ret);

/* Take the answer to a grant of network_watch_begin(). False: it has not come. *ret_error is 0 if
 * the host is granted, or taken away, and that recorded; or -errno: those of network_granted, or
 * -ENOENT: there is no such sandbox with hosts. The descriptor is to be closed then. */
bool network_grant_take(int fd, int *ret_error);

/* Ask, and wait for the answer. 0 or -errno; -ETIMEDOUT: none came. */
int network_grant(struct supervisor_client *client, const struct ipc_network_watch *watch,
		  const struct ipc_network_grant *grant);

#endif
