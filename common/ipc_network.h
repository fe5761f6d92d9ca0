/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between a frontend and msp-cable about the network of a sandbox. The supervisor passes
 * their socket on and reads none of them.
 */
#ifndef COMMON_IPC_NETWORK_H
#define COMMON_IPC_NETWORK_H

#include <stdint.h>

#include "common/limits.h"

/* Watch the network of an execution that the frontend asks for next, or look at a sandbox's. fd:
 * one end of a channel to msp-cable, which closes it if there is no such cable. For an execution
 * msp-cable sends its network_denials and closes when the frontend shuts its end for writing, or
 * when the sandbox ends; for a sandbox at once, with its network_connections. */
struct ipc_network_watch {
	uint64_t request; /* the execution's number */
	char owner[IPC_NAME_MAX];
	char sandbox[IPC_NAME_MAX]; /* id or name of a persistent sandbox; empty: the execution */
};

/* A connection that is open, or being dialled. */
struct ipc_network_connection {
	uint64_t number; /* as in the audit log */
	uint32_t port;
	char host[IPC_HOST_MAX];
};

/* Refusals of one kind since the watch began; for a sandbox, among the last of all sandboxes. */
struct ipc_network_denial {
	uint32_t port;           /* 0: a name was asked for */
	uint32_t reason;         /* enum connection_refused */
	uint32_t count;          /* stays at its largest value */
	uint32_t is_shared;      /* other executions ran in the sandbox meanwhile */
	char host[IPC_HOST_MAX]; /* empty: the kinds beyond NETWORK_DENIALS_MAX, together */
};

#endif
