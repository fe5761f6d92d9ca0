/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting msp-egress and msp-dial, before msp-cable confines itself.
 */
#ifndef GATEWAY_CABLE_PROGRAMS_H
#define GATEWAY_CABLE_PROGRAMS_H

#include <stdint.h>

#define PROGRAM_FDS_MAX 4U

/* Execute `image`, which is closed, with `fds` from GATEWAY_FD_CHANNEL on, which stay the caller's.
 * 0 with a descriptor of the process in *ret_pidfd, or -errno. */
int program_start(char *name, int *image, const int *fds, uint32_t count, int *ret_pidfd);

#endif
