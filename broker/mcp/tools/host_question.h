/* SPDX-License-Identifier: Apache-2.0
 *
 * The question of request_host to the client's user. Its first line names the host and port whole,
 * or its second one: a part of a name would be another host.
 */
#ifndef BROKER_MCP_TOOLS_HOST_QUESTION_H
#define BROKER_MCP_TOOLS_HOST_QUESTION_H

#include "mcp/asking/choice.h"

struct ipc_network_grant;

/* Append the parameters of the question (elicitation/create) as JSON; `reason`: the agent's words,
 * NULL: none. False: the name is too long for a question. */
bool host_put_question(const struct ipc_network_grant *grant, const struct json_value *reason,
		       struct buffer *params);

/* Read the reply; CHOICE_MADE: the host is allowed. Otherwise the reason is appended to
 * `ret_problem` as a sentence. */
enum choice_end host_read_answer(const struct ask_input *input, struct buffer *ret_problem);

#endif
