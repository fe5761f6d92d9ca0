/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of bridges, by which a port of the host leads to one of a sandbox. An msp-bridge listens
 * on the host's loopback and connects inside: it works for a frontend, and a part of the launcher
 * hands it the sandbox's network.
 */
#ifndef COMMON_IPC_IPC_BRIDGE_H
#define COMMON_IPC_IPC_BRIDGE_H

#include "common/ipc/bridge_fd.h"
#include "common/ipc/ipc_message.h"

/* clang-format off */

/* Bind the port of the host and start msp-bridge. fd: its BRIDGE_FD_CHANNEL. To the path opener, or
 * to the msp that has handed its client over: that one has the host's network. */
IPC_MESSAGE(bridge_bind, (U32, port), (U32, host_port));
IPC_MESSAGE(client_bridge, (U32, port), (U32, host_port));

enum bridge_operation {
	BRIDGE_ENTER = 0, /* fd: the other end of the channel of the msp-bridge's bridge_begin */
	BRIDGE_MAKE, /* have an msp-bridge started; fd: its BRIDGE_FD_CHANNEL, in which bridge_begin
		      * waits, and on which it says bridge_bound, or why not (bridge_ready) */
};

/* Let an msp-bridge into the network of a live persistent sandbox, or have it started for a
 * frontend that cannot. A broker needs PLAN_BRIDGE_ASK. request_done answers, or execution_refused.
 */
IPC_MESSAGE(bridge_start,
	(HEAD, STR),
	(U32, operation), /* enum bridge_operation */
	(U32, port),
	(U32, host_port)); /* MAKE: 0 is the same number, or any */

/* Record the bridge, and send bridge_open. fds: that end; a socket of the sandbox's network; the
 * pidfd of its init. */
IPC_MESSAGE(bridge_give,
	(U32, frontend), /* its number */
	(U32, port), (U32, host_port), (STR, sandbox, IPC_ID_MAX),
	(OPT, name, IPC_NAME_MAX)); /* "": the sandbox has none */

/* fds: the socket and the pidfd. There is a record. If there is none, the channel is closed. */
IPC_MESSAGE(bridge_open, (U32, reserved));

/* Tell of the open bridges, or close one. fd: a channel on which the path opener answers with
 * bridge_info, and which it closes when that is all, or the bridge has ended. A broker is no
 * sender. */
IPC_MESSAGE(bridge_look, (U32, close)); /* the port of the host; 0: none, tell of all */

/* Do as a bridge_look says. */
IPC_MESSAGE(bridge_show, (U32, close));

/* A bridge that is open, or is being closed. */
IPC_MESSAGE(bridge_info,
	(U64, since_s), /* by the real clock */
	(U32, port), (U32, host_port), (STR, sandbox, IPC_ID_MAX),
	(OPT, name, IPC_NAME_MAX)); /* "": it has none */

/* The first message to an msp-bridge. fd: a channel to the path opener, which sends bridge_open. */
IPC_MESSAGE(bridge_begin,
	(RAW, schema, IPC_SCHEMA_BYTES),
	(U32, port), /* the sandbox's */
	/* 1: any bytes pass; else the Host of an HTTP request must be this machine */
	(U32, is_raw));

/* The host's port is ours, and nobody can connect to it yet. */
IPC_MESSAGE(bridge_bound, (U32, host_port));

enum bridge_step {
	BRIDGE_STEP_NONE = 0,
	BRIDGE_STEP_RECORD,  /* it was not let in: the supervisor's answer says why, or the log */
	BRIDGE_STEP_ENTER,   /* entering the sandbox's network */
	BRIDGE_STEP_CONNECT, /* the sandbox's port takes no connections */
	BRIDGE_STEP_LISTEN
};

/* The port can be connected to, or why there is no bridge. */
IPC_MESSAGE(bridge_ready,
	(U32, step),   /* enum bridge_step */
	(U32, error)); /* errno of that */

enum bridge_end {
	BRIDGE_END_FRONTEND = 0, /* its frontend closed it, or ended */
	BRIDGE_END_SANDBOX,      /* the sandbox's init ended */
	BRIDGE_END_SUPERVISOR,   /* the path opener ended, and so does the supervisor */
	BRIDGE_END_CLOSED,       /* a person closed it (bridge_look) */
	BRIDGE_END_COUNT
};

/* A bridge that was ready has ended. To both peers. */
IPC_MESSAGE(bridge_end,
	(U64, connections),
	(U64, refused),               /* connections, by their Host, Origin or head */
	(U64, sent), (U64, received), /* bytes that the sandbox and the host's clients took */
	(U32, reason));               /* enum bridge_end */

/* clang-format on */

#endif
