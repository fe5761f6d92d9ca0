/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox://ID/log/N: what the execution N of a sandbox printed, as far as it is kept; for reading,
 * and byte for byte of each stream.
 */
#ifndef BROKER_MCP_RESOURCE_LOG_H
#define BROKER_MCP_RESOURCE_LOG_H

#include "mcp/resources.h"

extern const struct resource_provider resource_log;
extern const struct resource_provider resource_log_stream;
extern const struct resource_provider resource_log_piece;

/* Tell of what executions print from now on, those who subscribed to it. The watch is the host's.
 */
void resource_log_watch(struct host *host);

#endif
