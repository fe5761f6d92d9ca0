/* SPDX-License-Identifier: Apache-2.0
 *
 * What a model reads about an execution: one text, made for reading, whose last line is the
 * verdict. The same facts for machines go into the result's _meta.
 */
#ifndef BROKER_MCP_RESULT_H
#define BROKER_MCP_RESULT_H

#include "executions.h"
#include "json_write.h"
#include "mcp/posture.h"

#define LABEL_TEXT_MAX 256

/* What the texts say about the call, cut to size. */
struct result_label {
	char profile[LABEL_TEXT_MAX]; /* all showable (see text.h) */
	char subject[LABEL_TEXT_MAX]; /* the program or the language */
	char cwd[LABEL_TEXT_MAX];     /* as asked for; empty: not given */
};

struct result {
	struct buffer text;
	bool is_error;
	bool is_truncated;
};

/* Both append to `ret->text`, which the caller frees. */
void result_of_execution(const struct result_label *label, const struct execution_outcome *outcome,
			 struct result *ret);
void result_of_refusal(const struct result_label *label,
		       const struct ipc_execution_refused *refused, struct result *ret);

/* The member "msp/execution" of a _meta. */
void result_put_meta(struct json_writer *writer, const struct result *result,
		     const struct result_label *label, const struct posture *posture,
		     const struct execution_outcome *outcome);

#endif
