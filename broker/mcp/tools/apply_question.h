/* SPDX-License-Identifier: Apache-2.0
 *
 * The question of apply_changes to the client's user, and the reading of the answer. Clients show
 * three lines of a message and cut each at the terminal's width, so the question has two short
 * lines, and each answer is a value with a name. Only an accepted form with a value that was
 * offered applies something.
 */
#ifndef BROKER_MCP_TOOLS_APPLY_QUESTION_H
#define BROKER_MCP_TOOLS_APPLY_QUESTION_H

#include "mcp/asking/ask.h"
#include "mcp/tools/apply_texts.h"

struct ipc_sandbox_info;

/* The answers, in the order in which they are offered; the first is the default. */
enum apply_answer {
	APPLY_NOTHING,
	APPLY_ALL_BUT_HELD,
	APPLY_EVERYTHING,
	APPLY_ANSWERS,
};
#define APPLY_OFFERS(answer) (1U << (answer))

/* Append the parameters of the question (elicitation/create) as JSON. Returns the offered answers,
 * as bits. APPLY_EVERYTHING is one of them only if the question names each held change. */
unsigned int apply_put_question(const struct apply_view *view, const struct ipc_sandbox_info *info,
				uint32_t conflict, struct buffer *params);

/* Return the answer, one of `offered`. With APPLY_NOTHING the reason is appended to `ret_problem`
 * as a sentence. */
enum apply_answer apply_read_answer(const struct ask_input *input, unsigned int offered,
				    struct buffer *ret_problem);

#endif
