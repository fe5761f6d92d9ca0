/* SPDX-License-Identifier: Apache-2.0
 *
 * The text for a model about a request that the supervisor refused: the problem and the remedy.
 */
#ifndef BROKER_MCP_CORE_REFUSAL_H
#define BROKER_MCP_CORE_REFUSAL_H

#include "frontend/refusal_text.h"

struct ipc_execution_refused;

/* Append one or two sentences, without the result ("Nothing was run."). `plan` is that in force, or
 * NULL. */
void refusal_put(struct buffer *text, const struct ipc_execution_refused *refused,
		 const struct refusal_words *words, const struct plan *plan);

#endif
