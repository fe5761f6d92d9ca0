/* SPDX-License-Identifier: Apache-2.0
 *
 * The text for a model about an execution; its last line says how it ended, or that it goes on and
 * how to get more. The same facts for machines go into the result's _meta.
 */
#ifndef BROKER_MCP_CORE_RESULT_H
#define BROKER_MCP_CORE_RESULT_H

#include "common/plan/plan.h"
#include "executions/executions.h"
#include "frontend/json_write.h"
#include "frontend/refusal_text.h"
#include "mcp/core/posture.h"

/* Bound of both streams together, unless the client chooses another. With the lines around them a
 * result stays below the 10,000 characters at which agents cut it. */
#define RESULT_TEXT_BYTES 9500

/* The bytes of each stream that a text shows. */
struct result_part {
	uint64_t from[OUTPUT_STREAMS];
	uint64_t to[OUTPUT_STREAMS];
};

struct result {
	const struct plan *plan; /* explains denials */
	bool is_service;         /* the supervisor is the user's service */
	uint32_t limits;         /* enum limits_mode */
	struct buffer text;      /* the caller frees it */
	bool is_error;
	bool is_truncated;
};

/* Return the whole output; the output since the cursors. */
struct result_part result_part_all(const struct execution_info *info);
struct result_part result_part_new(const struct execution_info *info);
bool result_part_is_empty(const struct result_part *part);

/* Put the output in about `room` bytes, and the last line. */
void result_of_execution(const struct execution_info *info, const struct result_part *part,
			 size_t room, struct result *ret);

/* Put one stream from an offset on, in order and without omitting kept bytes: as much as fits,
 * where to go on, and the last line. */
void result_of_stream(const struct execution_info *info, enum output_stream stream, uint64_t offset,
		      size_t room, struct result *ret);

/* "stdout" or "stderr" */
const char *result_stream_name(enum output_stream stream);

/* "0.02 s" */
void result_put_duration(struct buffer *text, uint64_t us);

/* Write the member "msp/execution" of a _meta. `is_kept`: its handle stays valid. */
void result_put_meta(struct json_writer *writer, const struct result *result,
		     const struct execution_info *info, const struct posture *posture,
		     bool is_kept);

/* Parts in result.c: put the last line of an ended execution (within brackets, without them), with
 * a remedy for its time limit if the plan is not NULL; put the text of an execution that did not
 * run, with the plan that names its runner. */
void result_put_verdict(const struct execution_info *info, const struct plan *plan,
			struct buffer *text);
void result_put_failure(const struct execution_info *info, const struct plan *plan,
			struct buffer *text);

/* --- refusals ------------------------------------------------------------------------------- */

struct ipc_execution_refused;

/* Append one or two sentences, without the result ("Nothing was run."). `plan` is that in force, or
 * NULL. */
void refusal_put(struct buffer *text, const struct ipc_execution_refused *refused,
		 const struct refusal_words *words, const struct plan *plan);

#endif
