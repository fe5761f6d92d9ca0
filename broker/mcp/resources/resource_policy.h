/* SPDX-License-Identifier: Apache-2.0
 *
 * policy://PROFILE: the output of `msp-policy show PROFILE` for the plan in force.
 */
#ifndef BROKER_MCP_RESOURCES_RESOURCE_POLICY_H
#define BROKER_MCP_RESOURCES_RESOURCE_POLICY_H

#include "mcp/resources/resources.h"

/* Notify subscribers of a changed policy. */
void resource_policy_changed(struct host *host);

extern const struct resource_provider resource_policy;

#endif
