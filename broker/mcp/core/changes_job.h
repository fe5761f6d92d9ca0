/* SPDX-License-Identifier: Apache-2.0
 *
 * A call that waits for a sandbox's changes: the supervisor's answers, and the records that arrive
 * through a pipe meanwhile. Embedded in the tool's state of the call.
 */
#ifndef BROKER_MCP_CORE_CHANGES_JOB_H
#define BROKER_MCP_CORE_CHANGES_JOB_H

#include <event2/event.h>

#include "common/ipc/ipc_changes.h"
#include "frontend/change_stream.h"
#include "mcp/core/chosen_paths.h"
#include "mcp/core/errand.h"

struct changes_rules {
	/* Take a change, valid during the call. */
	void (*found)(struct errand *errand, const struct change *change);
	/* Every change was reported; `done` has the result. Ends the call or asks for more. */
	void (*ended)(struct errand *errand);
};

struct changes_job {
	const struct changes_rules *rules;
	struct errand *errand;
	struct change_stream stream;
	struct event *event; /* NULL: nothing is read */
	bool is_done;        /* the supervisor has reported the end */
	int64_t began_ms;    /* when the first question was asked */
	uint32_t stage;      /* enum change_stage, of the last report of progress */
	uint64_t before;     /* files of earlier stages */
	uint64_t last;       /* files of this one */
	bool is_broken;      /* the records could not be read to their end */
	struct ipc_changes_done done;
};

/* Ask for the changes of a sandbox that `paths` chooses; `wanted` is the request, which has the
 * sandbox if it is NULL. The errand has begun; the job is in the structure around it. */
void changes_job_start(struct changes_job *job, struct errand *errand,
		       const struct changes_rules *rules, const char *sandbox,
		       struct ipc_changes_start *wanted, const struct chosen_paths *paths);

/* Stop the job, in the `free` of the tool's errand. */
void changes_job_stop(struct changes_job *job);

/* Append how many ignored files are left out, as a part of a last line; nothing for none. */
void changes_job_put_ignored(const struct ipc_changes_done *done, struct buffer *text);

/* Append the problem as a sentence; append no text after a success. */
void changes_job_put_problem(const struct changes_job *job, struct buffer *text);

#endif
