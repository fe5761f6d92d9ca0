/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's roots: the directories that its user has open. A root only stands for a path that a
 * model does not know; which directories are open to requests, the operator decides.
 */
#ifndef BROKER_MCP_TOOLS_ROOTS_H
#define BROKER_MCP_TOOLS_ROOTS_H

#include "mcp/asking/ask.h"

/* Copy the path of the client's only root. Returns false if there is none, or more than one, with
 * the reason as sentences in `ret_problem`. */
bool roots_take_only(const struct ask_input *input, char *ret, size_t room,
		     struct buffer *ret_problem);

#endif
