/* SPDX-License-Identifier: Apache-2.0
 *
 * The text that a client shows its model about this server as a whole.
 */
#ifndef BROKER_MCP_GUIDE_H
#define BROKER_MCP_GUIDE_H

#include "io/buffer.h"
#include "mcp/posture.h"

void guide_append(struct buffer *text, const struct posture *posture);

#endif
