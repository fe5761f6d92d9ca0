/* SPDX-License-Identifier: Apache-2.0
 *
 * Resources: a file in the /workspace of a persistent sandbox.
 */
#ifndef BROKER_MCP_RESOURCES_RESOURCE_FILE_H
#define BROKER_MCP_RESOURCES_RESOURCE_FILE_H

#include "mcp/resources/resources.h"

extern const struct resource_provider resource_file;

#endif
