/* SPDX-License-Identifier: Apache-2.0
 *
 * Confinement of the broker, before it reads the first byte of its client.
 */
#ifndef BROKER_CONFINE_H
#define BROKER_CONFINE_H

/* The descriptor of the supervisor's channel, or of the file with the reason of a refused start. */
#define CONFINE_CHANNEL 3

/* The kinds of server; the descriptors say which. */
enum confine_kind {
	CONFINE_STDIO,   /* one client */
	CONFINE_HTTP,    /* descriptor 0 is a listening socket */
	CONFINE_REFUSED, /* descriptor 3 is a sealed file: nothing may be run */
};

/*
 * Check that descriptors 0, 1 and 2 are open and 3 is a unix SEQPACKET socket or a sealed file, and
 * close everything above. Returns the kind of server; ends the process when it is none.
 *
 * Must come before anything of ours opens a descriptor.
 */
enum confine_kind confine_descriptors(void);

/*
 * No new privileges, not dumpable, no capabilities, no file, no TCP port, no signal and no
 * abstract socket beyond this process; then the system call filter. Ends the process when a step
 * fails. CONFINE_REFUSED goes on without Landlock where the kernel has none: that may be the reason
 * of the refusal, no workload exists, and the filter lets no file be opened.
 *
 * Must come after everything that opens a descriptor, and before the first byte of the client.
 * Must not be followed by anything that needs a system call outside of seccomp_list.def,
 * or for an HTTP server of seccomp_http_list.def.
 */
void confine_process(enum confine_kind kind);

#endif
