/* SPDX-License-Identifier: Apache-2.0
 *
 * A call that waits for a sandbox's changes: what the supervisor answers, and the records that come
 * through a pipe meanwhile. Part of what the tool makes of the call.
 */
#ifndef BROKER_MCP_CHANGES_JOB_H
#define BROKER_MCP_CHANGES_JOB_H

#include <event2/event.h>

#include "frontend/change_stream.h"
#include "mcp/errand.h"

struct changes_rules {
	/* One of them, valid during the call. */
	void (*found)(void *work, const struct change *change);
	/* All of them were told; `done` says how it went. Ends the call or asks for more. */
	void (*ended)(void *work);
};

struct changes_job {
	/* These are the tool's to set. The errand has begun, changes_job_take() is for its
	 * `answered`; both it and `work`, for whatever, hold this job. */
	const struct changes_rules *rules;
	struct errand *errand;
	void *work;
	struct change_stream stream;
	struct event *event; /* NULL: nothing is read */
	bool is_done;        /* the supervisor has said so */
	bool is_broken;      /* the records could not be read to their end */
	struct ipc_changes_done done;
};

/* Ask for changes: `wanted` is the request, `paths` those that it is about (NULL: all), each an
 * element of an array of strings. */
void changes_job_start(struct changes_job *job, struct ipc_changes_start *wanted,
		       const struct json_document *document, const struct json_value *paths);

void changes_job_take(struct changes_job *job, const struct supervisor_answer *answer);

/* For the `free` of the tool's errand. */
void changes_job_stop(struct changes_job *job);

/* What went wrong, as a sentence; empty when nothing did. */
void changes_job_put_problem(const struct changes_job *job, struct buffer *text);

/* A path of an argument `paths`: relative, beneath the workspace. NULL: all of them are fine, or
 * what is wrong. */
const char *changes_check_paths(const struct json_document *document,
				const struct json_value *paths);

/* Room for all of them in a request. */
#define CHANGES_PATHS_MAX (256U << 10)

#endif
