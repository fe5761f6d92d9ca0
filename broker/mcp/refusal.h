/* SPDX-License-Identifier: Apache-2.0
 *
 * The text for a model about a request that the supervisor refused: the problem and the remedy.
 */
#ifndef BROKER_MCP_REFUSAL_H
#define BROKER_MCP_REFUSAL_H

#include "common/ipc.h"
#include "mcp/request.h"

/* The subject of the request, for the sentences: any bytes, NULL if there was none. */
struct refusal_subjects {
	const char *profile;
	const char *program; /* or language */
	const char *cwd;
	const char *sandbox;
	const char *name; /* name of a new sandbox */
	const char *checkpoint;
};

/* Append one or two sentences, without the result ("Nothing was run."). */
void refusal_put(struct buffer *text, const struct ipc_execution_refused *refused,
		 const struct refusal_subjects *subjects);

#endif
