/* SPDX-License-Identifier: Apache-2.0
 *
 * policy://PROFILE: what `msp-policy show PROFILE` prints, of the plan that is in force.
 */
#ifndef BROKER_MCP_RESOURCE_POLICY_H
#define BROKER_MCP_RESOURCE_POLICY_H

#include "mcp/resources.h"

/* Another policy holds: tell who wanted to know. */
void resource_policy_changed(struct host *host);

extern const struct resource_provider resource_policy;

#endif
