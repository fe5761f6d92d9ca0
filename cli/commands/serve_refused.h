/* SPDX-License-Identifier: Apache-2.0
 *
 * A refused start of `msp serve`, told to the client.
 */
#ifndef CLI_COMMANDS_SERVE_REFUSED_H
#define CLI_COMMANDS_SERVE_REFUSED_H

#include "launcher/start/launch.h"

/* Become a broker that tells the client on standard input the reason of a refused start: `reason`,
 * and all that the doctor misses. `config` is --config or NULL, `limits` those of the command line.
 * Returns only when that fails. */
void serve_refused(const struct images *images, const char *config, uint32_t limits,
		   const char *reason);

#endif
