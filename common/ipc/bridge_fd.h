/* SPDX-License-Identifier: Apache-2.0
 *
 * The descriptors of msp-bridge, apart from its messages: the filter of its system calls names one.
 */
#ifndef COMMON_IPC_BRIDGE_FD_H
#define COMMON_IPC_BRIDGE_FD_H

/* The descriptors that msp-bridge is executed with, beside its standard ones. */
enum bridge_fd {
	BRIDGE_FD_CHANNEL = 3, /* to the frontend that it works for */
	BRIDGE_FD_PORT,        /* the host's socket, bound, which does not listen yet */
};

#endif
