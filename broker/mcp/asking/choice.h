/* SPDX-License-Identifier: Apache-2.0
 *
 * A question to the client's user with a few answers, each a value with a name: the form, and the
 * reading of the reply. Clients show three lines of a message and cut each at the terminal's width,
 * so a message has two short lines. Only an accepted form with a value that was offered is a
 * choice.
 */
#ifndef BROKER_MCP_ASKING_CHOICE_H
#define BROKER_MCP_ASKING_CHOICE_H

#include "mcp/asking/ask.h"

/* Claude Code cuts each line of a message at 74 columns in a terminal of 80, and a description at
 * 68. No character takes more columns than bytes. */
#define CHOICE_LINE_BYTES 72U

/* The answers, in the order in which they are offered; the first one consents to nothing, and is
 * the default. */
struct choice {
	const char *const *answers;
	unsigned int count;
	unsigned int offered; /* bits; the first answer is always offered */
};

enum choice_end {
	CHOICE_MADE,    /* an answer but the first */
	CHOICE_REFUSED, /* by the user: the first answer, or no form at all */
	CHOICE_MISSING, /* no answer came, or the client did not ask */
};

/* Append the parameters of the question (elicitation/create) as JSON. */
void choice_put_question(const struct choice *choice, const struct buffer *message,
			 const char *help, struct buffer *params);

/* Read the reply. For CHOICE_MADE *ret_answer is the index; else it is 0, and the reason is
 * appended to `ret_problem` as a sentence. */
enum choice_end choice_read(const struct choice *choice, const struct ask_input *input,
			    unsigned int *ret_answer, struct buffer *ret_problem);

#endif
