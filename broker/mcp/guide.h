/* SPDX-License-Identifier: Apache-2.0
 *
 * The text about this server as a whole that a client shows its model.
 */
#ifndef BROKER_MCP_GUIDE_H
#define BROKER_MCP_GUIDE_H

#include "io/buffer.h"
#include "mcp/posture.h"

void guide_append(struct buffer *text, const struct posture *posture);

#endif
