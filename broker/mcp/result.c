/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/result.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "common/names.h"
#include "text.h"

/* For both streams together. With the lines around them a result stays below the 10,000
 * characters at which agents cut by themselves. */
#define OUTPUT_TEXT_BYTES 9500U

static void append_duration(struct buffer *text, uint64_t us)
{
	const uint64_t hundredths = (us + 5000) / 10000;
	const uint64_t tenths = (us + 50000) / 100000;

	if (hundredths < 1000)
		buffer_format(text, "%" PRIu64 ".%02" PRIu64 " s", hundredths / 100,
			      hundredths % 100);
	else if (tenths % 10 == 0 || tenths >= 1000)
		buffer_format(text, "%" PRIu64 " s", tenths / 10);
	else
		buffer_format(text, "%" PRIu64 ".%" PRIu64 " s", tenths / 10, tenths % 10);
}

static void append_signal(struct buffer *text, uint32_t signal)
{
	const char *name = sigabbrev_np((int)signal);

	buffer_format(text, "signal %" PRIu32, signal);
	if (name)
		buffer_format(text, " (SIG%s)", name);
	if (signal == SIGSYS)
		buffer_append_text(text, ", by the sandbox's system call filter");
	if (signal == SIGXFSZ)
		buffer_append_text(text, ", because a file grew beyond the profile's limit");
}

static void say_exited(struct buffer *text, const struct ipc_execution_done *done)
{
	buffer_format(text, "exit %" PRIu32 " · ", done->exit_code);
	append_duration(text, done->wall_us);
}

static void say_signalled(struct buffer *text, const struct ipc_execution_done *done)
{
	buffer_append_text(text, "killed by ");
	append_signal(text, done->signal);
	buffer_append_text(text, " · ");
	append_duration(text, done->wall_us);
}

static void say_timeout(struct buffer *text, const struct ipc_execution_done *done)
{
	buffer_append_text(text, "timeout after ");
	append_duration(text, done->wall_us);
	buffer_append_text(text, ": every process was killed; do less at once, or raise timeout_ms "
				 "if the profile's limit allows it");
}

static void say_memory(struct buffer *text, const struct ipc_execution_done *done)
{
	buffer_append_text(text, "memory limit reached");
	if (done->peak_bytes > 0)
		buffer_format(text, " (peak %" PRIu64 " MiB)", done->peak_bytes >> 20);
	buffer_append_text(text, ": every process was killed; use less memory");
}

struct verdict_text {
	void (*say)(struct buffer *text, const struct ipc_execution_done *done);
	const char *plain; /* when there is nothing to fill in */
};

static const struct verdict_text verdicts[VERDICT_COUNT] = {
	[VERDICT_EXITED] = { say_exited, NULL },
	[VERDICT_SIGNALLED] = { say_signalled, NULL },
	[VERDICT_TIMEOUT] = { say_timeout, NULL },
	[VERDICT_CPU_TIME] = { NULL, "CPU time limit reached: every process was killed; do less at "
				     "once" },
	[VERDICT_MEMORY] = { say_memory, NULL },
	[VERDICT_PIDS] = { NULL, "process limit reached: every process was killed; start fewer "
				 "processes and threads" },
	[VERDICT_DISK] = { NULL, "disk limit reached: every process was killed; write less" },
	[VERDICT_OUTPUT] = { NULL, "output limit reached: every process was killed; print less" },
	[VERDICT_DENIED] = { NULL, "killed for an operation that the profile does not allow" },
	[VERDICT_CANCELLED] = { NULL, "cancelled: every process was killed" },
	[VERDICT_CLIENT_GONE] = { NULL, "cancelled: every process was killed" },
	[VERDICT_INTERNAL] = { NULL, "the sandbox failed: its result is not to be relied on" },
};

static void end_line(struct buffer *text)
{
	if (text->size > 0 && text->bytes[text->size - 1] != '\n')
		buffer_append(text, "\n", 1);
}

/* Both streams share the room: what one does not need is the other's. */
static bool show_output(const struct execution_outcome *outcome, struct buffer *text)
{
	const size_t half = OUTPUT_TEXT_BYTES / 2;
	const size_t out = output_text_size(outcome->out);
	const size_t err = output_text_size(outcome->err);
	const size_t out_room = err < half ? OUTPUT_TEXT_BYTES - err : half;
	const size_t err_room = out < half ? OUTPUT_TEXT_BYTES - out : half;
	bool is_truncated = output_show(outcome->out, out_room, text);

	end_line(text);
	if (outcome->err->total > 0) {
		buffer_append_text(text, "[stderr]\n");
		is_truncated |= output_show(outcome->err, err_room, text);
		end_line(text);
	}
	if (is_truncated)
		buffer_format(text,
			      "[output cut: stdout has %" PRIu64 " bytes, stderr %" PRIu64
			      "; filter it in the command, or print parts of it]\n",
			      outcome->out->total, outcome->err->total);
	return is_truncated;
}

static void append_error(struct buffer *text, uint32_t error)
{
	const char *name = strerrorname_np((int)error);
	const char *description = strerrordesc_np((int)error);

	if (name && description)
		buffer_format(text, "%s (%s)", description, name);
	else
		buffer_format(text, "error %" PRIu32, error);
}

/* The command itself could not be started, the sandbox could. */
static void say_exec_failed(const struct result_label *label, uint32_t error, struct buffer *text)
{
	buffer_format(text, "\"%s\" could not be executed: ", label->subject);
	append_error(text, error);
	if (error == ENOENT)
		buffer_append_text(text,
				   ". Check its name and path: the sandbox has the programs "
				   "that are installed on this machine under /usr, and nothing "
				   "can be installed from inside.");
	else if (error == EACCES)
		buffer_append_text(text,
				   ". It must be an executable file in a place where execution "
				   "is allowed.");
	else if (error == ENOEXEC)
		buffer_append_text(text, ". It is neither a program for this machine nor a script "
					 "with a #! line; run it through its interpreter.");
	else if (error == E2BIG)
		buffer_append_text(text, ". Pass large data in `stdin` instead of arguments.");
	else
		buffer_append_text(text, ".");
}

static void say_cwd_failed(const struct result_label *label, uint32_t error, struct buffer *text)
{
	buffer_format(text,
		      "The directory \"%s\" (argument cwd) could not be entered: ", label->cwd);
	append_error(text, error);
	buffer_append_text(text, ". Use a directory that exists in a fresh sandbox, such as "
				 "/workspace, or create it in the command.");
}

static void say_start_failed(const struct result_label *label,
			     const struct ipc_execution_done *done, struct buffer *text)
{
	if (done->stage == STAGE_EXEC) {
		say_exec_failed(label, done->error, text);
	} else if (done->stage == STAGE_CWD && label->cwd[0]) {
		say_cwd_failed(label, done->error, text);
	} else {
		buffer_format(text, "The sandbox could not be set up: %s failed: ",
			      stage_text(done->stage));
		append_error(text, done->error);
		buffer_append_text(text, ". The fault is not in the command; `msp doctor` on this "
					 "machine helps to find it.");
	}
	buffer_append_text(text, " Nothing was run.");
}

void result_of_execution(const struct result_label *label, const struct execution_outcome *outcome,
			 struct result *ret)
{
	const struct ipc_execution_done *done = outcome->done;
	const uint32_t verdict = done->verdict < VERDICT_COUNT ? done->verdict : VERDICT_INTERNAL;
	struct buffer *text = &ret->text;

	if (done->stage != STAGE_NONE) {
		ret->is_error = true;
		say_start_failed(label, done, text);
		return;
	}
	ret->is_error = verdict == VERDICT_INTERNAL;
	ret->is_truncated = show_output(outcome, text);
	buffer_append(text, "[", 1);
	if (verdicts[verdict].say)
		verdicts[verdict].say(text, done);
	else
		buffer_append_text(text, verdicts[verdict].plain);
	if (outcome->out->total == 0 && outcome->err->total == 0)
		buffer_append_text(text, " · no output");
	buffer_append(text, "]", 1);
}

/* Parts of a refusal's sentence: `before`, the subject or cwd, `middle`, the supervisor's detail,
 * `after`. */
struct refusal_text {
	const char *before;
	const char *middle;
	const char *after;
};

static const struct refusal_text refusals[REFUSAL_COUNT] = {
	[REFUSAL_PROFILE_UNKNOWN] = { "There is no profile \"", "\". The profiles are: ",
				      ". Leave `profile` out for the default one." },
	[REFUSAL_LANGUAGE_UNKNOWN] = { "The profile has no language \"",
				       "\". Its languages are: ", ". Use one of these." },
	[REFUSAL_LANGUAGE_MISSING] = { "The language \"",
				       "\" is not installed on this machine. Installed are: ",
				       ". Use one of these, or ask the user to install it." },
	[REFUSAL_REQUEST_IN_USE] = { NULL, "The supervisor knows this request already. ",
				     "Call again." },
	[REFUSAL_BUSY] = { NULL, "Too many executions are running: ",
			   ". Wait until one ends, or cancel one, and call again." },
	[REFUSAL_MEMORY] = { NULL, "The sandboxes use all the memory that the operator allows: ",
			     ". Wait until one ends, or cancel one, and call again." },
	[REFUSAL_ARGV] = { NULL, "The arguments or the environment are malformed. ",
			   "Check them and call again." },
	[REFUSAL_CWD] = { "The working directory \"",
			  "\" is not an absolute path inside the sandbox. ",
			  "Use one such as /workspace." },
	[REFUSAL_RESOURCES] = { NULL, "The machine has no room for another execution: ",
				". Wait a moment and call again." },
};

static const char *refusal_subject(const struct result_label *label, uint32_t reason)
{
	if (reason == REFUSAL_PROFILE_UNKNOWN)
		return label->profile;
	return reason == REFUSAL_CWD ? label->cwd : label->subject;
}

void result_of_refusal(const struct result_label *label,
		       const struct ipc_execution_refused *refused, struct result *ret)
{
	const struct refusal_text *parts = NULL;

	ret->is_error = true;
	if (refused->reason < REFUSAL_COUNT && refusals[refused->reason].middle)
		parts = &refusals[refused->reason];
	if (!parts) {
		buffer_append_text(&ret->text,
				   "The supervisor refused the execution. Nothing was run.");
		return;
	}
	if (parts->before) {
		buffer_append_text(&ret->text, parts->before);
		buffer_append_text(&ret->text, refusal_subject(label, refused->reason));
	}
	buffer_append_text(&ret->text, parts->middle);
	text_append(&ret->text, refused->detail, strlen(refused->detail));
	buffer_append_text(&ret->text, parts->after);
	if (refused->retry_ms > 0) {
		buffer_append_text(&ret->text, " One ends in at most ");
		append_duration(&ret->text, (uint64_t)refused->retry_ms * 1000);
		buffer_append_text(&ret->text, ".");
	}
	buffer_append_text(&ret->text, " Nothing was run.");
}

void result_put_meta(struct json_writer *writer, const struct result *result,
		     const struct result_label *label, const struct posture *posture,
		     const struct execution_outcome *outcome)
{
	const struct ipc_execution_done *done = outcome->done;

	json_open_object(writer, "msp/execution");
	json_put_text(writer, "verdict", verdict_name(done->verdict));
	if (done->verdict == VERDICT_EXITED)
		json_put_number(writer, "exit_code", done->exit_code);
	if (done->signal != 0)
		json_put_number(writer, "signal", done->signal);
	if (done->stage != STAGE_NONE) {
		json_put_text(writer, "stage", stage_text(done->stage));
		json_put_number(writer, "errno", done->error);
	}
	json_put_number(writer, "wall_ms", (done->wall_us + 500) / 1000);
	json_put_number(writer, "cpu_ms", (done->cpu_us + 500) / 1000);
	json_put_number(writer, "peak_bytes", done->peak_bytes);
	json_put_number(writer, "stdout_bytes", outcome->out->total);
	json_put_number(writer, "stderr_bytes", outcome->err->total);
	json_put_bool(writer, "truncated", result->is_truncated);
	json_put_text(writer, "limits", posture_limits_name(posture));
	json_put_number(writer, "landlock_abi", posture->landlock_abi);
	json_put_text(writer, "profile", label->profile);
	json_close_object(writer);
}
