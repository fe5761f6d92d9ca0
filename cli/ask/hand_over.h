/* SPDX-License-Identifier: Apache-2.0
 *
 * An MCP client that is handed over to the user's service: its standard streams go to a broker that
 * the service starts, and msp stays for nothing but the end of it.
 */
#ifndef CLI_ASK_HAND_OVER_H
#define CLI_ASK_HAND_OVER_H

#include <stdint.h>

#include "launcher/host/service.h"
#include "launcher/host/workspace.h"
#include "launcher/start/config.h"

/* No exit code yet: serve this client in another way. Nothing of it was used. */
#define HAND_OVER_NOT (-1)

/*
 * Hand descriptors 0, 1 and 2 over to the connected `service` (taken) and wait for the client's
 * end. `limits` is what the command line accepts, and `config` what it says when that is
 * LIMITS_UNSAID; `workspaces` is what the client's requests may name. The exit code of msp, with a
 * line on stderr where it is not 0; or HAND_OVER_NOT, with a line too. `null` is a descriptor of
 * /dev/null.
 */
int hand_over(struct service *service, struct config *config, uint32_t limits,
	      const struct workspaces *workspaces, int null);

#endif
