/* SPDX-License-Identifier: Apache-2.0
 *
 * The resource sandbox://{id}/network: open connections, hosts beside the list, and refusals.
 */
#ifndef BROKER_MCP_RESOURCES_RESOURCE_NETWORK_H
#define BROKER_MCP_RESOURCES_RESOURCE_NETWORK_H

#include "mcp/resources/resources.h"

extern const struct resource_provider resource_network;

#endif
