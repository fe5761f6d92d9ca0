/* SPDX-License-Identifier: Apache-2.0
 *
 * MCP over standard input and output: one client, whose connection is its session.
 */
#ifndef BROKER_STDIO_SERVER_H
#define BROKER_STDIO_SERVER_H

#include "mcp/core/host.h"

struct stdio;

/* Make a server. `ended` is called once, when the client is gone. The descriptors stay the
 * caller's; reading begins with stdio_open(). */
struct stdio *stdio_new(struct host *host, int in, int out, void (*ended)(void *context),
			void *context);
void stdio_open(struct stdio *stdio);

/* Free it. Returns NULL. */
struct stdio *stdio_free(struct stdio *stdio);

#endif
