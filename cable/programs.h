/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting msp-egress and msp-dial, before msp-cable confines itself.
 */
#ifndef CABLE_PROGRAMS_H
#define CABLE_PROGRAMS_H

/* Execute `image`, which is closed, with the two channels, which stay the caller's. 0 with a
 * descriptor of the process in *ret_pidfd, or -errno. */
int program_start(char *name, int *image, int channel, int peer, int *ret_pidfd);

#endif
