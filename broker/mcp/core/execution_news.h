/* SPDX-License-Identifier: Apache-2.0
 *
 * Debug messages in the client's log about an execution that a call waits for: its start and its
 * end, never its output. The call's answer has all that matters.
 */
#ifndef BROKER_MCP_CORE_EXECUTION_NEWS_H
#define BROKER_MCP_CORE_EXECUTION_NEWS_H

#include "executions/executions.h"
#include "mcp/core/call.h"

void execution_news_say(struct call *call, const struct execution *execution,
			enum execution_event event);

#endif
