/* SPDX-License-Identifier: Apache-2.0
 *
 * What a model reads about a request that the supervisor refused: what is wrong, and what helps.
 */
#ifndef BROKER_MCP_REFUSAL_H
#define BROKER_MCP_REFUSAL_H

#include "common/ipc.h"
#include "mcp/request.h"

/* What the request was about, for the sentences: any bytes, NULL where there was none. */
struct refusal_subjects {
	const char *profile;
	const char *program; /* or language */
	const char *cwd;
	const char *sandbox;
	const char *name; /* that a new one was to have */
	const char *checkpoint;
};

/* Append one or two sentences, without what became of it ("Nothing was run."). */
void refusal_put(struct buffer *text, const struct ipc_execution_refused *refused,
		 const struct refusal_subjects *subjects);

#endif
