/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/host_question.h"

#include <string.h>

#include "common/ipc_network.h"
#include "io/text.h"

static const char *const answers[] = { "no", "for this session" };

static const struct choice choice = { answers, 2, 3 };

static const char help[] = "Programs in sandboxes can send it all they know.";

/* Put the agent's words as a line. It is the last one, so that they cannot look like ours. */
static void put_reason(struct buffer *message, const struct json_value *reason)
{
	static const char before[] = "\nThe agent says: \"";
	static const size_t room = CHOICE_LINE_BYTES - (sizeof("The agent says: \"...\"") - 1);
	const size_t start = message->size + sizeof(before) - 1;

	if (!reason || reason->size == 0)
		return;
	buffer_append_text(message, before);
	text_quote(message, reason->text, reason->size, room);
	for (size_t i = start; i < message->size; i++) {
		if (message->bytes[i] == '"')
			message->bytes[i] = '\'';
	}
	buffer_append_text(message, "\"");
}

bool host_put_question(const struct ipc_network_grant *grant, const struct json_value *reason,
		       struct buffer *params)
{
	struct buffer name = { 0 }, message = { 0 }, about = { 0 };
	bool is_short;

	buffer_format(&name, "%s:%u", grant->host, grant->port);
	is_short = name.size <= CHOICE_LINE_BYTES;
	if (strlen("Let sandboxes reach ?") + name.size <= CHOICE_LINE_BYTES) {
		buffer_format(&message, "Let sandboxes reach %s?", name.bytes);
		put_reason(&message, reason);
	} else {
		buffer_format(&message, "Let sandboxes reach this host?\n%s", name.bytes);
	}
	buffer_append_text(&about, help);
	if (is_short)
		choice_put_question(&choice, &message, &about, params);
	buffer_done(&name);
	buffer_done(&message);
	buffer_done(&about);
	return is_short;
}

enum choice_end host_read_answer(const struct ask_input *input, struct buffer *ret_problem)
{
	unsigned int answer;

	return choice_read(&choice, input, &answer, ret_problem);
}
