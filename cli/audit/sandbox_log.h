/* SPDX-License-Identifier: Apache-2.0
 *
 * What happened in one sandbox that lasts, a line for each thing, from the records of the audit
 * log. What has a begin and an end is one line, when it ends.
 */
#ifndef CLI_AUDIT_SANDBOX_LOG_H
#define CLI_AUDIT_SANDBOX_LOG_H

#include <stdbool.h>

#include "audit/audit_read.h"

/* Its executions and an apply. */
#define SANDBOX_LOG_OPEN (SANDBOX_EXECUTIONS_MAX + 1)

/* Began and has not ended. */
struct sandbox_log_open {
	uint64_t pid;    /* of its supervisor; 0: this one is free */
	uint64_t number; /* of the execution or request there */
	uint64_t seq;    /* of the record of its begin */
	uint64_t time_us;
	const char *event; /* "exec", "file", "apply", "undo" */
	bool is_apply;
	char text[128]; /* what is known of it already */
};

struct sandbox_log {
	const char *id;
	bool is_json;  /* the records as they are, in place of lines */
	uint64_t skip; /* so many lines are only counted; UINT64_MAX: all */
	/* What came of it. */
	uint64_t lines;
	uint64_t records;
	bool is_over; /* it is gone: nothing more will happen in it */
	struct sandbox_log_open open[SANDBOX_LOG_OPEN];
};

/* A taker of records (audit_read.h); the context is the log. Wants no more when it is over. */
bool sandbox_log_take(void *context, const char *line, size_t size);

/* There are no more records for now: lines for what has not ended. */
void sandbox_log_finish(struct sandbox_log *log);

#endif
