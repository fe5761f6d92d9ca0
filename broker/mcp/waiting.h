/* SPDX-License-Identifier: Apache-2.0
 *
 * A call that waits for an execution: for its end, for output, or until its time is over; with
 * progress for the client meanwhile. Part of what the tool makes of the call.
 */
#ifndef BROKER_MCP_WAITING_H
#define BROKER_MCP_WAITING_H

#include "executions/executions.h"
#include "mcp/call.h"

struct waiting;

enum waiting_end {
	WAITING_OVER,    /* the execution is over */
	WAITING_STARTED, /* it runs */
	WAITING_PRINTED, /* it printed what was waited for */
	WAITING_TIME,    /* the time is over */
	WAITING_GONE,    /* it was discarded; `execution` is of no further use */
};

struct waiting_rules {
	/* It waits no longer. Answers the call, or makes it wait again; frees what is around. */
	void (*ended)(struct waiting *waiting, enum waiting_end end);
	/* The client wants no answer; the call ends by itself. */
	void (*cancelled)(struct waiting *waiting);
	/* Is there output that is news? NULL: output is no reason. */
	bool (*has_news)(const struct waiting *waiting);
	uint32_t settle_ms;    /* once there is, wait so long for more of it */
	bool is_still_settled; /* ... and each time that more comes */
};

struct waiting {
	struct call *call;
	struct execution *execution;
	const struct waiting_rules *rules;
	bool ends_at_start; /* to see it run is enough */
	struct execution_watch watch;
	struct event *limit, *settling, *progress; /* NULL: not set */
	int64_t began_ms;
	uint32_t limit_ms;
};

/* Wait, at most `limit_ms`. The rest of `waiting` is filled in. May end at once. */
void waiting_begin(struct waiting *waiting, struct call *call, struct execution *execution,
		   const struct waiting_rules *rules, uint32_t limit_ms);

#endif
