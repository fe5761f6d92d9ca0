/* SPDX-License-Identifier: Apache-2.0
 *
 * The text about this server as a whole that a client shows its model.
 */
#ifndef BROKER_MCP_GUIDE_H
#define BROKER_MCP_GUIDE_H

#include "lib/heap/buffer.h"

struct host;

/* Append the instructions: the tools, how to work with them, and the posture; or, where nothing may
 * be run, the reason. */
void guide_append(struct buffer *text, const struct host *host);

#endif
