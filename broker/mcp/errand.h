/* SPDX-License-Identifier: Apache-2.0
 *
 * A call that waits for the supervisor's answer about sandboxes that last, to one request after
 * another. Part of what the tool makes of the call.
 */
#ifndef BROKER_MCP_ERRAND_H
#define BROKER_MCP_ERRAND_H

#include "executions/requests.h"
#include "mcp/call.h"
#include "mcp/refusal.h"

struct errand;

struct errand_rules {
	/* What was asked for; neither a refusal nor the supervisor's loss. */
	void (*answered)(struct errand *errand, const struct supervisor_answer *answer);
	/* True: the refusal is dealt with. NULL or false: the call fails with its text. */
	bool (*refused)(struct errand *errand, const struct ipc_execution_refused *refused);
	/* Free what is around the errand; the call is over or goes on without it. */
	void (*free)(struct errand *errand);
};

struct errand {
	struct asked asked;
	struct call *call;
	const struct errand_rules *rules;
	struct refusal_subjects subjects; /* for the texts; what they point to lives as long */
	bool is_read; /* of a resource: its failures are errors of the protocol */
};

/* The call waits for answers from now on: what is done when its client wants none is `free`. */
void errand_begin(struct errand *errand, struct call *call, const struct errand_rules *rules);

/* Of what a request came to: asked; or the call has failed with what to do, and the errand is gone
 * (false). */
bool errand_is_asked(struct errand *errand, enum asking asking);

/* The call is the caller's again, with nothing to give up. Frees the errand. */
struct call *errand_release(struct errand *errand);

/* Answer with a text or a failure and end both. */
void errand_answer(struct errand *errand, const struct buffer *text, bool is_error);
void errand_fail_text(struct errand *errand, const char *problem);

/* It is refused, by the supervisor or in its words. */
void errand_refuse(struct errand *errand, const struct ipc_execution_refused *refused);

#endif
