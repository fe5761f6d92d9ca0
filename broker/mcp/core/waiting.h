/* SPDX-License-Identifier: Apache-2.0
 *
 * A call that waits for an execution: for its end, for output, or until its time is over, with
 * progress for the client. Embedded in the tool's state of the call.
 */
#ifndef BROKER_MCP_CORE_WAITING_H
#define BROKER_MCP_CORE_WAITING_H

#include "executions/executions.h"
#include "mcp/core/call.h"

struct waiting;

enum waiting_end {
	WAITING_OVER,    /* the execution is over */
	WAITING_STARTED, /* it runs, or has its new deadline */
	WAITING_PRINTED, /* its new output is enough for an answer */
	WAITING_TIME,    /* the time is over */
	WAITING_GONE,    /* it was discarded; `execution` is invalid */
};

struct waiting_rules {
	/* The wait is over. Answers the call, or waits again; frees the structure around it. */
	void (*ended)(struct waiting *waiting, enum waiting_end end);
	/* The client cancelled; the call ends by itself. */
	void (*cancelled)(struct waiting *waiting);
	/* Return true if the new output fills an answer: the wait ends at once. NULL: never. */
	bool (*is_full)(const struct waiting *waiting);
	/* Return true if the new output may be all for now: the wait ends unless more follows
	 * within `settle_ms`, which each further piece restarts. NULL: never. */
	bool (*has_news)(const struct waiting *waiting);
	uint32_t settle_ms;
};

struct waiting {
	struct call *call;
	struct execution *execution;
	const struct waiting_rules *rules;
	bool ends_at_start; /* its start, or its new deadline, ends the wait */
	struct execution_watch watch;
	struct event *limit, *settling, *progress; /* NULL: not set */
	int64_t began_ms;
	uint32_t limit_ms;
};

/* Wait, at most `limit_ms`. The rest of `waiting` is filled in. The wait may end at once. */
void waiting_begin(struct waiting *waiting, struct call *call, struct execution *execution,
		   const struct waiting_rules *rules, uint32_t limit_ms);

#endif
