/* SPDX-License-Identifier: Apache-2.0
 *
 * The history of one persistent sandbox, a line for each event, from the records of the audit log.
 * An event with a begin and an end is one line, when it ends; a connection to a host is two.
 */
#ifndef CLI_AUDIT_SANDBOX_LOG_H
#define CLI_AUDIT_SANDBOX_LOG_H

#include <stdbool.h>

#include "audit/audit_read.h"

/* Its executions and an apply. */
#define SANDBOX_LOG_OPEN (SANDBOX_EXECUTIONS_MAX + 1)

/* Began and has not ended. */
struct sandbox_log_open {
	uint64_t pid;    /* its supervisor's; 0: this entry is free */
	uint64_t number; /* the execution's or request's there */
	uint64_t seq;    /* the begin record's */
	uint64_t time_us;
	const char *event; /* "exec", "file", "apply", "undo" */
	bool is_apply;
	char text[128]; /* its text until now */
};

struct sandbox_log {
	const char *id;
	bool is_json;  /* the records as they are, in place of lines */
	uint64_t skip; /* so many lines are only counted; UINT64_MAX: all */
	/* The result. */
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
