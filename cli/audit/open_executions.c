/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/open_executions.h"

#include <string.h>

/* The execution and the event of a record. */
struct said {
	struct open_execution one;
	struct audit_value event;
};

static void drop_at(struct open_executions *open, size_t i)
{
	open->count--;
	memmove(&open->list[i], &open->list[i + 1], (open->count - i) * sizeof(open->list[0]));
}

static void add_execution(struct open_executions *open, const struct open_execution *one)
{
	if (open->count == EXECUTIONS_MAX)
		drop_at(open, 0);
	open->list[open->count++] = *one;
}

/* Drop the executions that a record shows to be over: of another process with the supervisor's
 * number, of another supervisor of the sandbox, or the one that it ends. */
static void drop_ended(struct open_executions *open, const struct said *said)
{
	const bool is_start = audit_value_is(&said->event, audit_event_name(AUDIT_START));
	const bool is_end = audit_value_is(&said->event, audit_event_name(AUDIT_EXECUTION_END));
	const bool is_gone = audit_value_is(&said->event, audit_event_name(AUDIT_SANDBOX_END));

	for (size_t i = open->count; i-- > 0;) {
		const struct open_execution *at = &open->list[i];
		const bool is_its = strcmp(at->sandbox, said->one.sandbox) == 0;

		if (at->pid == said->one.pid
			    ? is_start || (is_end && at->execution == said->one.execution) ||
				      (is_gone && is_its)
			    : is_its)
			drop_at(open, i);
	}
}

bool open_executions_take(void *context, const char *line, size_t size)
{
	struct open_executions *open = context;
	struct said said = { .one = { .pid = 0 } };

	if (!audit_value_find(line, size, "event", &said.event))
		return true;
	audit_text_of(line, size, "sandbox", said.one.sandbox, sizeof(said.one.sandbox));
	said.one.pid = audit_number_of(line, size, "pid");
	said.one.execution = audit_number_of(line, size, "execution");
	drop_ended(open, &said);
	if (said.one.sandbox[0] == '\0' ||
	    !audit_value_is(&said.event, audit_event_name(AUDIT_EXECUTION_BEGIN)))
		return true;
	said.one.time_us = audit_number_of(line, size, "time_us");
	audit_text_of(line, size, "argv_sha256", said.one.argv_sha256,
		      sizeof(said.one.argv_sha256));
	add_execution(open, &said.one);
	return true;
}
