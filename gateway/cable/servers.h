/* SPDX-License-Identifier: Apache-2.0
 *
 * The servers of msp-http, one for each profile of a plan whose requests are read. The launcher
 * offers them with a channel that the secrets come over; the first sandbox begins one.
 */
#ifndef GATEWAY_CABLE_SERVERS_H
#define GATEWAY_CABLE_SERVERS_H

#include <stdint.h>
#include <sys/types.h>

struct hub;

/* The descriptors of an offer, as in gateway_http. */
enum server_fd {
	SERVER_FD_EGRESS,
	SERVER_FD_LAUNCHER,
	SERVER_FD_OTHER,
	SERVER_FD_PLAN,
	SERVER_FDS
};

/* Keep the launcher's offer of a server, with its descriptors. If the server had begun, begin
 * another. 0 or -errno. */
int servers_offer(const struct hub *hub, uint32_t profile, const int fds[SERVER_FDS]);

/* Begin the server of a profile, unless it has begun, for the plan with this inode. 0 with its
 * number, as in egress_http; -ENOENT: it was not offered; or another -errno. */
int servers_begin(const struct hub *hub, ino_t plan, uint32_t profile, uint32_t *ret);

#endif
