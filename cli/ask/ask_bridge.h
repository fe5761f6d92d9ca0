/* SPDX-License-Identifier: Apache-2.0
 *
 * The one question of `msp bridge` (ask.c).
 */
#ifndef CLI_ASK_ASK_BRIDGE_H
#define CLI_ASK_ASK_BRIDGE_H

struct attach_options;
struct ipc_bridge_start;

/* Have the supervisor let an msp-bridge into a sandbox. `network`, the other end of its
 * BRIDGE_FD_NETWORK, stays the caller's. 0, or the exit code after a line. */
int ask_for_bridge(const struct attach_options *options, const struct ipc_bridge_start *wanted,
		   int network);

#endif
