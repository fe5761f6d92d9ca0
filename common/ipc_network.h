/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between a frontend and msp-cable about the network of a sandbox. The supervisor passes
 * their socket on and reads none of them.
 */
#ifndef COMMON_IPC_NETWORK_H
#define COMMON_IPC_NETWORK_H

#include <stdint.h>

#include "common/limits.h"

/* Ask for the refusals of an execution that is over, look at the network of a sandbox, or speak for
 * a client. fd: one end of a channel to msp-cable, which closes it if there is no such cable. For
 * an execution msp-cable sends network_denials once. If the frontend has sent a network_grant
 * before it passed the other end, msp-cable answers that. Otherwise it says what it knows: for a
 * sandbox its network_connections, network_hosts and network_denials; without both, the
 * network_hosts that are asked for, unless the frontend is a broker. Then it closes. */
struct ipc_network_watch {
	uint64_t request; /* the execution's number; 0: there is none */
	char owner[IPC_NAME_MAX];
	char sandbox[IPC_NAME_MAX]; /* id or name of a persistent sandbox; empty: none */
};

/* Pass the socket of a network_watch on. fd: the socket */
struct ipc_cable_watch {
	struct ipc_network_watch from;
	uint32_t frontend; /* the number of the frontend, whose requests are counted */
	uint32_t is_broker;
	uint32_t slot; /* the sandbox's; GATEWAY_SLOTS: it named none */
};

/* Let a host be reached, or take one away: in the sandbox of the watch; without one, in all
 * sandboxes of a client whose profiles let hosts be added. Only a person takes away, and only from
 * a sandbox, and names another client than itself. The answer is network_granted. */
struct ipc_network_grant {
	uint32_t port;
	uint32_t frontend; /* number of the client; 0: the one that asks, with the watch's owner */
	uint32_t is_cut;   /* take the host away, with every port */
	char host[IPC_HOST_MAX]; /* a name in the one spelling; empty: cut all */
	char owner[IPC_NAME_MAX];
};

/* It is recorded, and holds; or not. */
struct ipc_network_granted {
	/* errno; EPERM: not a frontend's to say; EACCES: the profile lets no host be added; ENOSPC:
	 * no room for another host or port; EINVAL: no such port */
	uint32_t error;
};

enum network_host_state {
	NETWORK_HOST_ASKED = 0, /* refused, and nobody has granted it */
	NETWORK_HOST_GRANTED,
	NETWORK_HOST_CUT,
	NETWORK_HOST_STATE_COUNT
};

/* A host beside a profile's list. */
struct ipc_network_host {
	uint64_t time_us;  /* last change, by the monotonic clock */
	uint32_t state;    /* enum network_host_state */
	uint32_t frontend; /* number of the client; 0: only the sandbox has it */
	uint32_t port;
	uint32_t count;          /* refusals */
	char host[IPC_HOST_MAX]; /* empty: all hosts are cut */
	char owner[IPC_NAME_MAX];
	char profile[IPC_NAME_MAX];
	char sandbox[IPC_NAME_MAX]; /* id of the persistent sandbox */
};

/* A connection that is open. */
struct ipc_network_connection {
	uint64_t number;         /* as in the audit log */
	uint64_t sent, received; /* as in connection_open */
	uint32_t port;
	char host[IPC_HOST_MAX];
};

/* Refusals of one kind in an execution; for a sandbox, among the last of all sandboxes. */
struct ipc_network_denial {
	uint32_t port;           /* 0: a name was asked for */
	uint32_t reason;         /* enum connection_refused */
	uint32_t count;          /* stays at its largest value */
	uint32_t is_shared;      /* other executions ran in the sandbox meanwhile */
	char host[IPC_HOST_MAX]; /* empty: the kinds beyond NETWORK_DENIALS_MAX, together */
};

#endif
