/* SPDX-License-Identifier: Apache-2.0
 *
 * kill_execution: end an execution, or send a signal to it.
 */
#include <signal.h>

#include "lib/heap/memory.h"
#include "mcp/core/waiting.h"
#include "mcp/tools/params.h"
#include "mcp/tools/tool_handle.h"

enum kill_param {
	KILL_HANDLE,
	KILL_SIGNAL,
};

/* The supervisor kills; its report usually comes within milliseconds. */
#define WAIT_MS_KILL 1000

/* KILL differs from the others: it ends every process in the sandbox. */
static const char *const signal_names[] = { "KILL", "HUP",  "INT",  "QUIT", "USR1",
					    "USR2", "TERM", "CONT", "STOP", NULL };
static const uint32_t signal_numbers[] = { SIGKILL, SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1,
					   SIGUSR2, SIGTERM, SIGCONT, SIGSTOP };

static const struct tool_param params[] = {
	[KILL_HANDLE] = ROW_HANDLE,
	[KILL_SIGNAL] = { .name = "signal",
			  .kind = PARAM_NAME,
			  .names = signal_names,
			  .standard = "\"KILL\"",
			  .description = "Others than KILL go to the program's process group." },
};

static const struct waiting_rules rules = { .ended = handle_waiting_ended };

static void send_signal(struct call *call, struct execution *execution, size_t index)
{
	struct result result = handle_result(call);

	if (!execution_signal(execution, signal_numbers[index])) {
		call_fail(call, "The signal was not sent: the execution is starting or "
				"ending. Call again in a moment.");
		return;
	}
	buffer_format(&result.text, "[SIG%s was sent to %s · read_output(handle) shows the effect]",
		      signal_names[index], execution_info(execution)->handle);
	handle_answer_result(call, execution, &result, true);
}

static void kill_execution(struct call *call, const struct json_document *document,
			   struct json_value *const *values)
{
	struct execution *execution = handle_find(call, values[KILL_HANDLE]);
	const size_t index = tool_name_index(values[KILL_SIGNAL], signal_names);

	if (!execution)
		return;
	if (index > 0 && execution_info(execution)->state != EXECUTION_OVER) {
		send_signal(call, execution, index);
		return;
	}
	execution_kill(execution);
	waiting_begin(memory_get_zeroed(1, sizeof(struct waiting)), call, execution, &rules,
		      WAIT_MS_KILL);
}

const struct tool tool_kill_execution = {
	.name = "kill_execution",
	.title = "End an execution, or send it a signal",
	.description = "End an execution with all its processes and return the rest of its output. "
		       "With `signal`, signal its program instead; read_output shows the effect.",
	TOOL_PARAMS(params),
	.handler = kill_execution,
};
