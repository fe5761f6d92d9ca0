/* SPDX-License-Identifier: Apache-2.0
 *
 * The reasons for which executions and clients end, as messages have them.
 */
#ifndef COMMON_IPC_END_REASON_H
#define COMMON_IPC_END_REASON_H

/* Why a frontend has an execution end. */
enum end_reason {
	END_CANCELLED = 1,
	END_OUTPUT,
	END_CLIENT_GONE,
};

/* Why a client that was handed over is no longer served. */
enum client_end_reason {
	CLIENT_END_DONE = 1, /* its broker ended */
	CLIENT_END_FAILED,   /* its broker could not be started, or broke the protocol */
	CLIENT_END_FULL,     /* FRONTENDS_MAX are served */
	CLIENT_END_LIMITS, /* the service runs with weaker limits than the client's operator accepts
			    */
	CLIENT_END_STOPPING, /* the service stops */
	CLIENT_END_UNFIT,    /* the service cannot start, by its configuration or this machine */
};

#endif
