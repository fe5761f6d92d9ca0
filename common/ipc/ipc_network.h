/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between a frontend and msp-cable about the network of a sandbox. The supervisor passes
 * their socket on and reads none of them.
 */
#ifndef COMMON_IPC_IPC_NETWORK_H
#define COMMON_IPC_IPC_NETWORK_H

#include "common/ipc/ipc_message.h"

/* clang-format off */

/* Ask for the refusals of an execution that is over, look at the network of a sandbox, or speak for
 * a client. fd: one end of a channel to msp-cable, which closes it if there is no such cable. For
 * an execution msp-cable sends network_denials once. If the frontend has sent a network_grant
 * before it passed the other end, msp-cable answers that. Otherwise it says what it knows: for a
 * sandbox its network_connections, network_hosts and network_denials; without both, the
 * network_hosts that are asked for, unless the frontend is a broker. Then it closes. */
IPC_MESSAGE(network_watch,
	(HEAD, OPT)); /* the execution's number; 0: there is none. A persistent sandbox; empty: none */

/* Pass the socket of a network_watch on. fd: the socket */
IPC_MESSAGE(cable_watch,
	(HEAD, OPT),     /* the watch's */
	(U32, frontend), /* the number of the frontend, whose requests are counted */
	(U32, is_broker),
	(U32, slot)); /* the sandbox's; GATEWAY_SLOTS: it named none */

/* Let a host be reached, or take one away: in the sandbox of the watch; without one, in all
 * sandboxes of a client whose profiles let hosts be added. Only a person takes away, and only from
 * a sandbox, and names another client than itself. The answer is network_granted. */
IPC_MESSAGE(network_grant,
	(U32, port),
	(U32, frontend), /* number of the client; 0: the one that asks, with the watch's owner */
	(U32, is_cut), /* take the host away, with every port */
	(OPT, host, IPC_HOST_MAX), /* a name in the one spelling; empty: cut all */
	(OPT, owner, IPC_NAME_MAX));

/* It is recorded, and holds; or not. */
IPC_MESSAGE(network_granted,
	/* errno; EPERM: not a frontend's to say; EACCES: the profile lets no host be added; ENOSPC:
	 * no room for another host or port; EINVAL: no such port */
	(U32, error));

enum network_host_state {
	NETWORK_HOST_ASKED = 0, /* refused, and nobody has granted it */
	NETWORK_HOST_GRANTED,
	NETWORK_HOST_CUT
};

/* A host beside a profile's list. */
IPC_MESSAGE(network_host,
	(U64, time_us),  /* last change, by the monotonic clock */
	(U32, state),    /* enum network_host_state */
	(U32, frontend), /* number of the client; 0: only the sandbox has it */
	(U32, port),
	(U32, count),              /* refusals */
	(OPT, host, IPC_HOST_MAX), /* empty: all hosts are cut */
	(OPT, owner, IPC_NAME_MAX), (OPT, profile, IPC_NAME_MAX),
	(OPT, sandbox, IPC_NAME_MAX)); /* id of the persistent sandbox */

/* A connection that is open. */
IPC_MESSAGE(network_connection,
	(U64, number),                /* as in the audit log */
	(U64, sent), (U64, received), /* as in connection_open */
	(U32, port), (STR, host, IPC_HOST_MAX));

/* Refusals or failures of one kind in an execution; for a sandbox, among the last of all sandboxes. */
IPC_MESSAGE(network_denial,
	(U32, port),                /* 0: a name was asked for */
	(U32, reason),              /* enum connection_refused */
	(U32, count),               /* stays at its largest value */
	(U32, is_shared),           /* other executions ran in the sandbox meanwhile */
	(OPT, host, IPC_HOST_MAX)); /* empty: the kinds beyond NETWORK_DENIALS_MAX, together */

/* clang-format on */

#endif
