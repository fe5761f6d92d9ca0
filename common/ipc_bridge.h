/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of bridges, by which a port of the host leads to one of a sandbox. An msp-bridge listens
 * on the host's loopback and connects inside: it works for a frontend, and a part of the launcher
 * hands it the sandbox's network.
 */
#ifndef COMMON_IPC_BRIDGE_H
#define COMMON_IPC_BRIDGE_H

#include <stdint.h>

#include "common/limits.h"

/* The descriptors that msp-bridge is executed with, beside its standard ones. */
enum bridge_fd {
	BRIDGE_FD_CHANNEL = 3, /* to the frontend that it works for */
	BRIDGE_FD_PORT,        /* the host's socket, bound, which does not listen yet */
};

/* Bind the port of the host and start msp-bridge. fd: its BRIDGE_FD_CHANNEL. To the path opener, or
 * to the msp that has handed its client over: that one has the host's network. */
struct ipc_bridge_bind {
	uint32_t port;
	uint32_t host_port;
};
struct ipc_client_bridge {
	uint32_t port;
	uint32_t host_port;
};

enum bridge_operation {
	BRIDGE_ENTER = 0, /* fd: the other end of the channel of the msp-bridge's bridge_begin */
	BRIDGE_MAKE, /* have an msp-bridge started; fd: its BRIDGE_FD_CHANNEL, in which bridge_begin
		      * waits, and on which it says bridge_bound, or why not (bridge_ready) */
};

/* Let an msp-bridge into the network of a live persistent sandbox, or have it started for a
 * frontend that cannot. A broker needs PLAN_BRIDGE_ASK. request_done answers, or execution_refused.
 */
struct ipc_bridge_start {
	uint64_t request;
	uint32_t operation; /* enum bridge_operation */
	uint32_t port;
	uint32_t host_port; /* MAKE: 0 is the same number, or any */
	char sandbox[IPC_NAME_MAX];
	char owner[IPC_NAME_MAX];
};

/* Record the bridge, and send bridge_open. fds: that end; a socket of the sandbox's network; the
 * pidfd of its init. */
struct ipc_bridge_give {
	uint32_t frontend; /* its number */
	uint32_t port;
	uint32_t host_port;
	char sandbox[IPC_ID_MAX];
	char name[IPC_NAME_MAX]; /* "": the sandbox has none */
};

/* fds: the socket and the pidfd. There is a record. If there is none, the channel is closed. */
struct ipc_bridge_open {
	uint32_t reserved;
};

/* Tell of the open bridges, or close one. fd: a channel on which the path opener answers with
 * bridge_info, and which it closes when that is all, or the bridge has ended. A broker is no
 * sender. */
struct ipc_bridge_look {
	uint32_t close; /* the port of the host; 0: none, tell of all */
};

/* Do as a bridge_look says. */
struct ipc_bridge_show {
	uint32_t close;
};

/* A bridge that is open, or is being closed. */
struct ipc_bridge_info {
	uint64_t since_s; /* by the real clock */
	uint32_t port;
	uint32_t host_port;
	char sandbox[IPC_ID_MAX];
	char name[IPC_NAME_MAX]; /* "": it has none */
};

/* The first message to an msp-bridge. fd: a channel to the path opener, which sends bridge_open. */
struct ipc_bridge_begin {
	uint8_t schema[IPC_SCHEMA_BYTES];
	uint32_t port;   /* the sandbox's */
	uint32_t is_raw; /* 1: any bytes pass; else the Host of an HTTP request must be this machine
			  */
};

/* The host's port is ours, and nobody can connect to it yet. */
struct ipc_bridge_bound {
	uint32_t host_port;
};

enum bridge_step {
	BRIDGE_STEP_NONE = 0,
	BRIDGE_STEP_RECORD,  /* it was not let in: the supervisor's answer says why, or the log */
	BRIDGE_STEP_ENTER,   /* entering the sandbox's network */
	BRIDGE_STEP_CONNECT, /* the sandbox's port takes no connections */
	BRIDGE_STEP_LISTEN,
	BRIDGE_STEP_COUNT
};

/* The port can be connected to, or why there is no bridge. */
struct ipc_bridge_ready {
	uint32_t step;  /* enum bridge_step */
	uint32_t error; /* errno of that */
};

enum bridge_end {
	BRIDGE_END_FRONTEND = 0, /* its frontend closed it, or ended */
	BRIDGE_END_SANDBOX,      /* the sandbox's init ended */
	BRIDGE_END_SUPERVISOR,   /* the path opener ended, and so does the supervisor */
	BRIDGE_END_CLOSED,       /* a person closed it (bridge_look) */
	BRIDGE_END_COUNT
};

/* A bridge that was ready has ended. To both peers. */
struct ipc_bridge_end {
	uint64_t connections;
	uint64_t refused;        /* connections, by their Host, Origin or head */
	uint64_t sent, received; /* bytes that the sandbox and the host's clients took */
	uint32_t reason;         /* enum bridge_end */
};

#endif
