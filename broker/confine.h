/* SPDX-License-Identifier: Apache-2.0
 *
 * Confinement of the broker, before it reads the first byte of its client.
 */
#ifndef BROKER_CONFINE_H
#define BROKER_CONFINE_H

#include <stdbool.h>

/* The descriptor of the supervisor's channel. */
#define CONFINE_CHANNEL 3

/*
 * Descriptors 0, 1 and 2 are open, 3 is a unix SEQPACKET socket, everything above is closed.
 * Ends the process when it is not so.
 *
 * Must come before anything of ours opens a descriptor.
 */
void confine_descriptors(void);

/* Return true if descriptor 0 is a listening socket, so that this process is an HTTP server. */
bool confine_is_listening(void);

/*
 * No new privileges, not dumpable, no capabilities, no file, no TCP port, no signal and no
 * abstract socket beyond this process; then the system call filter. Ends the process when a step
 * fails.
 *
 * Must come after everything that opens a descriptor, and before the first byte of the client.
 * Must not be followed by anything that needs a system call outside of seccomp_list.def,
 * or for an HTTP server of seccomp_http_list.def.
 */
void confine_process(bool is_http);

#endif
