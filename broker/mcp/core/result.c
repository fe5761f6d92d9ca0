/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/result.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_refused.h"
#include "common/log.h"
#include "common/text/names.h"
#include "frontend/profile_names.h"
#include "frontend/runner_text.h"
#include "frontend/words/words.h"
#include "io/text.h"

void result_put_duration(struct buffer *text, uint64_t us)
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
	result_put_duration(text, done->wall_us);
}

static void say_signalled(struct buffer *text, const struct ipc_execution_done *done)
{
	buffer_append_text(text, "killed by ");
	append_signal(text, done->signal);
	buffer_append_text(text, " · ");
	result_put_duration(text, done->wall_us);
}

/* Put a limit in its largest whole unit; one minute is 60 s. */
static void put_limit(struct buffer *text, uint64_t ms)
{
	if (ms % 3600000 == 0)
		buffer_format(text, "%" PRIu64 " h", ms / 3600000);
	else if (ms % 60000 == 0 && ms > 60000)
		buffer_format(text, "%" PRIu64 " min", ms / 60000);
	else if (ms % 1000 == 0)
		buffer_format(text, "%" PRIu64 " s", ms / 1000);
	else
		result_put_duration(text, ms * 1000);
}

/* Return the time limit of an ended execution. The profile is NULL if it is not known. */
static uint64_t time_limit_of(const struct execution_info *info, const struct plan_profile *profile)
{
	if (!profile)
		return (info->done->wall_us + 500) / 1000;
	if (info->limit_ms > 0)
		return info->limit_ms < profile->wall_max_ms ? info->limit_ms
							     : profile->wall_max_ms;
	return info->is_persistent ? profile->wall_persistent_ms : profile->wall_default_ms;
}

/* Say the length of the time limit, and how to have more time or that there is no more. */
static void say_timeout(const struct execution_info *info, const struct plan *plan,
			struct buffer *text)
{
	const struct plan_profile *profile = profile_find(plan, info->label.profile);
	const uint64_t limit_ms = time_limit_of(info, profile);

	buffer_append_text(text, " of ");
	put_limit(text, limit_ms);
	if (!profile)
		return;
	if (limit_ms >= profile->wall_max_ms) {
		buffer_append_text(text, ", the most of this profile; do less at once");
		return;
	}
	buffer_append_text(text, "; next time pass timeout_ms, at most ");
	put_limit(text, profile->wall_max_ms);
}

static void say_memory(struct buffer *text, const struct ipc_execution_done *done)
{
	if (done->peak_bytes > 0)
		buffer_format(text, " (peak %" PRIu64 " MiB)", done->peak_bytes >> 20);
	buffer_append_text(text, ": every process was killed; use less memory");
}

/* The command could not be started, although the sandbox was. */
static void say_exec_failed(const struct execution_label *label, uint32_t error,
			    const struct plan *plan, struct buffer *text)
{
	buffer_format(text, "\"%s\" could not be executed: ", label->subject);
	buffer_append_text(text, errno_text((int)error));
	if (error == ENOENT && profile_has_image(plan, label->profile))
		buffer_append_text(text, ". Check its name and path: the sandbox has the programs "
					 "of its image, and none of this machine.");
	else if (error == ENOENT)
		buffer_append_text(text,
				   ". Check its name and path: the sandbox has the programs "
				   "that are installed on this machine under /usr, and nothing "
				   "can be installed from inside.");
	else if (error == EACCES)
		buffer_append_text(text, ". It must be an executable file in a directory where "
					 "execution is allowed.");
	else if (error == ENOEXEC)
		buffer_append_text(text, ". It is neither a program for this machine nor a script "
					 "with a #! line. Run it with its interpreter.");
	else if (error == E2BIG)
		buffer_append_text(text, ". Pass large data in `stdin` instead of arguments.");
	else
		buffer_append_text(text, ".");
}

static void say_cwd_failed(const struct execution_label *label, uint32_t error, struct buffer *text)
{
	buffer_format(text,
		      "The directory \"%s\" (argument cwd) could not be entered: ", label->cwd);
	buffer_append_text(text, errno_text((int)error));
	buffer_append_text(
		text,
		". Use an existing directory such as /workspace, or create it in the command.");
}

static void say_start_failed(const struct execution_label *label,
			     const struct ipc_execution_done *done, const struct plan *plan,
			     struct buffer *text)
{
	char runner[RUNNER_TEXT_MAX];

	if (done->stage == STAGE_NETWORK && done->error == ENETDOWN) {
		buffer_append_text(text, "msp's gateway to the network has ended, and the sandbox "
					 "with it. Do not rely on what it did. Call again.");
		return;
	}
	buffer_append_text(text, "Nothing was run. ");
	if (done->stage == STAGE_EXEC &&
	    runner_print_failure(plan, label->profile, done->error, runner)) {
		buffer_format(text, "Ask the user: %s.", runner);
	} else if (done->stage == STAGE_EXEC) {
		say_exec_failed(label, done->error, plan, text);
	} else if (done->stage == STAGE_CWD && label->cwd[0]) {
		say_cwd_failed(label, done->error, text);
	} else if (done->stage == STAGE_CODE && done->error == ENOSPC) {
		buffer_append_text(text, "No room for the code's file: the disk limit is reached "
					 "or /tmp is full. Remove files with run_command.");
	} else {
		buffer_format(text, "The sandbox could not be set up: %s failed: %s. %s",
			      stage_text(done->stage), errno_text((int)done->error),
			      "This is no fault of the command. Ask the user to run `msp doctor`.");
	}
}

void result_put_verdict(const struct execution_info *info, const struct plan *plan,
			struct buffer *text)
{
	const struct ipc_execution_done *done = info->done;
	const char *words = verdict_words(done->verdict)->models;
	/* A refused fork or write kills nobody: the command ended by itself. */
	const bool is_own_end = done->verdict == VERDICT_EXITED ||
				done->verdict == VERDICT_SIGNALLED ||
				done->verdict == VERDICT_PIDS || done->verdict == VERDICT_DISK;

	if (is_own_end && done->signal)
		say_signalled(text, done);
	else if (is_own_end)
		say_exited(text, done);
	if (words)
		buffer_format(text, "%s%s", is_own_end ? " · " : "", words);
	if (done->verdict == VERDICT_TIMEOUT)
		say_timeout(info, plan, text);
	else if (done->verdict == VERDICT_MEMORY)
		say_memory(text, done);
}

static void say_refused(const struct execution_label *label,
			const struct ipc_execution_refused *refused, const struct plan *plan,
			struct buffer *text)
{
	const struct refusal_words subjects = { .profile = label->profile,
						.program = label->subject,
						.cwd = label->cwd,
						.sandbox = label->sandbox };

	buffer_append_text(text, "Nothing was run. ");
	refusal_put(text, refused, &subjects, plan);
}

void result_put_failure(const struct execution_info *info, const struct plan *plan,
			struct buffer *text)
{
	if (info->refused)
		say_refused(&info->label, info->refused, plan, text);
	else
		say_start_failed(&info->label, info->done, plan, text);
}

/* --- refusals ------------------------------------------------------------------------------- */

/* Bound of a quoted word. */
#define WORD_BYTES 250U

static void put_word(struct buffer *text, const char *word)
{
	buffer_append_text(text, text_quoted(word, strlen(word), WORD_BYTES));
}

static void put_detail(struct buffer *text, const char *detail)
{
	text_append(text, detail, strlen(detail), TEXT_JUDGED);
}

static void put_retry(struct buffer *text, uint32_t ms)
{
	result_put_duration(text, (uint64_t)ms * 1000);
}

void refusal_put(struct buffer *text, const struct ipc_execution_refused *refused,
		 const struct refusal_words *words, const struct plan *plan)
{
	static const struct refusal_style style = { .audience = REFUSAL_FOR_MODELS,
						    .put_word = put_word,
						    .put_detail = put_detail,
						    .put_retry = put_retry };

	refusal_text_put(text, &style, refused, words, plan);
}
