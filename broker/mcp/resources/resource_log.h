/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox://ID/log/N: the kept output of execution N of a sandbox; readable, and byte for byte of
 * each stream.
 */
#ifndef BROKER_MCP_RESOURCES_RESOURCE_LOG_H
#define BROKER_MCP_RESOURCES_RESOURCE_LOG_H

#include "mcp/resources/resources.h"

extern const struct resource_provider resource_log;
extern const struct resource_provider resource_log_stream;
extern const struct resource_provider resource_log_piece;

/* Notify subscribers of new output from now on. The watch is the host's. */
void resource_log_watch(struct host *host);

#endif
