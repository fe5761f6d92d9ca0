/* SPDX-License-Identifier: Apache-2.0
 *
 * The methods that begin a conversation, describe this server, and cancel a request.
 */
#ifndef BROKER_MCP_LIFECYCLE_H
#define BROKER_MCP_LIFECYCLE_H

#include "mcp/core/request.h"

void lifecycle_initialize(const struct request *request);
void lifecycle_ping(const struct request *request);
void lifecycle_discover(const struct request *request);
void lifecycle_set_level(const struct request *request);
void lifecycle_cancelled(const struct request *request);

#endif
