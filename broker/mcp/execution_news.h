/* SPDX-License-Identifier: Apache-2.0
 *
 * What the client's log is told of an execution that a call waits for, at the level debug: that it
 * runs, and how it ended. What everybody should know is in the call's answer. Never what it prints.
 */
#ifndef BROKER_MCP_EXECUTION_NEWS_H
#define BROKER_MCP_EXECUTION_NEWS_H

#include "executions/executions.h"
#include "mcp/call.h"

void execution_news_say(struct call *call, const struct execution *execution,
			enum execution_event event);

#endif
