/* SPDX-License-Identifier: Apache-2.0
 *
 * What a model reads about an execution, verdict by verdict, refusal by refusal.
 */
#include "mcp/core/result.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "common/text/names.h"
#include "plan_blob.h"
#include "rig.h"

static struct execution_info info;
static struct ipc_execution_done done;
static struct ipc_execution_refused refused;
static struct result result;

static void reset_output(void)
{
	output_log_drop(&info.log);
	info.log = (struct output_log){ .bytes_max = 1 << 20 };
}

static void reset(void)
{
	static const struct execution_label label = { .profile = "default",
						      .subject = "prog",
						      .cwd = "/here" };

	reset_output();
	info.label = label;
	info.state = EXECUTION_OVER;
	memcpy(info.handle, "abc-1", 6);
	memset(info.cursor, 0, sizeof(info.cursor));
	memset(&done, 0, sizeof(done));
	memset(&refused, 0, sizeof(refused));
}

TestSuite(mcp_result, .init = reset);

static void begin(void)
{
	buffer_done(&result.text);
	memset(&result, 0, sizeof(result));
}

static const char *text(void)
{
	buffer_append(&result.text, "", 1);
	return result.text.bytes;
}

static const char *text_of_execution(void)
{
	const struct result_part part = result_part_all(&info);

	info.done = &done;
	begin();
	result_of_execution(&info, &part, RESULT_TEXT_BYTES, &result);
	return text();
}

static const char *text_of_refusal(uint32_t reason, const char *detail)
{
	const struct result_part part = result_part_all(&info);

	refused.reason = reason;
	(void)snprintf(refused.detail, sizeof(refused.detail), "%s", detail);
	info.refused = &refused;
	begin();
	result_of_execution(&info, &part, RESULT_TEXT_BYTES, &result);
	return text();
}

static void print(enum output_stream stream, const char *bytes)
{
	output_add(&info.log, stream, bytes, strlen(bytes));
}

Test(mcp_result, exits)
{
	done.wall_us = 20300;
	cr_assert_str_eq(text_of_execution(), "[exit 0 · 0.02 s · no output]");
	print(OUTPUT_OUT, "hello");
	cr_assert_str_eq(text_of_execution(), "hello\n[exit 0 · 0.02 s]");
	print(OUTPUT_ERR, "warning\n");
	done.exit_code = 3;
	cr_assert_str_eq(text_of_execution(), "hello\n[stderr]\nwarning\n[exit 3 · 0.02 s]");
	cr_assert_not(result.is_error, "a non-zero exit is a result");
	reset_output();
	print(OUTPUT_ERR, "warning\n");
	cr_assert_str_eq(text_of_execution(), "[stderr]\nwarning\n[exit 3 · 0.02 s]");
}

Test(mcp_result, durations)
{
	static const struct {
		uint64_t us;
		const char *text;
	} durations[] = {
		{ 0, "0.00 s" },        { 4999, "0.00 s" },     { 5000, "0.01 s" },
		{ 9999999, "10 s" },    { 1234000, "1.23 s" },  { 60000000, "60 s" },
		{ 61500000, "61.5 s" }, { 600400000, "600 s" },
	};

	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		done.wall_us = durations[i].us;
		expect_part(text_of_execution(), durations[i].text);
	}
}

Test(mcp_result, verdicts)
{
	static const struct {
		uint32_t verdict;
		const char *part;
	} verdicts[] = {
		{ VERDICT_TIMEOUT, "[stopped at its time limit of 60 s]" },
		{ VERDICT_CPU_TIME, "[CPU time limit reached" },
		{ VERDICT_MEMORY,
		  "[memory limit reached (peak 512 MiB): every process was killed" },
		/* these two kill nothing: the command ended by itself */
		{ VERDICT_PIDS, "[exit 7 · 60 s · process limit reached; start fewer" },
		{ VERDICT_DISK,
		  "[exit 7 · 60 s · disk limit reached; remove files or write less]" },
		{ VERDICT_OUTPUT, "[output limit reached" },
		{ VERDICT_DENIED, "[killed for an operation" },
		{ VERDICT_CANCELLED, "[cancelled" },
		{ VERDICT_STOPPED, "[the sandbox was stopped or destroyed" },
		{ VERDICT_CLIENT_GONE, "[cancelled" },
	};

	done.wall_us = 60000000;
	done.peak_bytes = 512 << 20;
	done.exit_code = 7;
	print(OUTPUT_OUT, "partial");
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		done.verdict = verdicts[i].verdict;
		expect_part(text_of_execution(), verdicts[i].part);
		expect_part(result.text.bytes, "partial\n");
		cr_assert_not(result.is_error);
	}
	done.verdict = VERDICT_MEMORY;
	done.peak_bytes = 0;
	expect_part(text_of_execution(), "[memory limit reached: every process was killed");
	done.verdict = VERDICT_PIDS;
	done.signal = SIGABRT;
	expect_part(text_of_execution(),
		    "[killed by signal 6 (SIGABRT) · 60 s · process limit reached; start");
	done.signal = 0;
	done.verdict = VERDICT_COUNT;
	expect_part(text_of_execution(), "the sandbox failed");
	cr_assert(result.is_error);
}

static const char *meta_of_execution(void)
{
	static const struct posture posture;
	static struct buffer out;
	struct json_writer writer = { .out = &out };

	buffer_done(&out);
	info.done = &done;
	result_put_meta(&writer, &result, &info, &posture, false);
	buffer_append(&out, "", 1);
	return out.bytes;
}

Test(mcp_result, figures_that_are_not_known_are_left_out)
{
	expect_part(meta_of_execution(), "\"wall_ms\":0,\"stdout_bytes\"");
	done.cpu_us = 400;
	expect_part(meta_of_execution(), "\"wall_ms\":0,\"cpu_ms\":0,\"stdout_bytes\"");
	done.peak_bytes = 1;
	expect_part(meta_of_execution(), "\"cpu_ms\":0,\"peak_bytes\":1,\"stdout_bytes\"");
}

Test(mcp_result, signals)
{
	done.verdict = VERDICT_SIGNALLED;
	done.signal = SIGKILL;
	expect_part(text_of_execution(), "[killed by signal 9 (SIGKILL) · 0.00 s");
	done.signal = SIGSYS;
	expect_part(text_of_execution(), "system call filter");
	done.signal = SIGXFSZ;
	expect_part(text_of_execution(), "a file grew beyond");
	done.signal = 4000;
	expect_part(text_of_execution(), "[killed by signal 4000 ·");
}

Test(mcp_result, programs_are_those_of_the_image)
{
	static _Alignas(8) struct blob blob;
	struct plan plan;

	(void)blob_make(&blob);
	cr_assert_eq(plan_open(&blob, sizeof(blob), &plan), 0);
	done.verdict = VERDICT_INTERNAL;
	done.stage = STAGE_EXEC;
	done.error = ENOENT;
	info.done = &done;
	begin();
	result_put_failure(&info, &plan, &result.text);
	expect_part(text(), "under /usr");
	blob.profile.image = 1;
	begin();
	result_put_failure(&info, &plan, &result.text);
	expect_part(text(), "of its image, and none of this machine");
	cr_expect_null(strstr(text(), "/usr"));
}

Test(mcp_result, starts_that_fail)
{
	done.verdict = VERDICT_INTERNAL;
	done.stage = STAGE_EXEC;
	done.error = ENOENT;
	expect_part(text_of_execution(),
		    "\"prog\" could not be executed: No such file or directory (ENOENT)");
	expect_part(result.text.bytes, "Nothing was run.");
	cr_assert(result.is_error);
	done.error = EACCES;
	expect_part(text_of_execution(), "executable file");
	done.error = ENOEXEC;
	expect_part(text_of_execution(), "#! line");
	done.error = E2BIG;
	expect_part(text_of_execution(), "`stdin`");
	done.error = 4000;
	expect_part(text_of_execution(), "error 4000");
	done.stage = STAGE_CWD;
	done.error = ENOENT;
	expect_part(text_of_execution(), "\"/here\" (argument cwd)");
	done.stage = STAGE_CODE;
	done.error = ENOSPC;
	expect_part(text_of_execution(), "Remove files with run_command");
	done.stage = STAGE_MOUNTS;
	expect_part(text_of_execution(),
		    "could not be set up: mounting the sandbox's own file systems failed");
	done.stage = 4000;
	cr_assert(result.is_error);
	(void)text_of_execution();
	cr_assert(result.is_error);
}

Test(mcp_result, refusals_name_value_rule_and_remedy)
{
	expect_part(text_of_refusal(REFUSAL_PROFILE_UNKNOWN, "default, strict"),
		    "There is no profile \"default\". The profiles are: default, strict. Leave");
	expect_part(text_of_refusal(REFUSAL_LANGUAGE_UNKNOWN, "a, b"),
		    "\"prog\". Installed are: a, b. Use");
	expect_part(text_of_refusal(REFUSAL_LANGUAGE_MISSING, "a"),
		    "Installed are: a. Use one of these, or ask");
	refused.retry_ms = 61500;
	expect_part(text_of_refusal(REFUSAL_BUSY, "2 of 2 executions"),
		    "running: 2 of 2 executions. Call again when one has ended. One ends in at "
		    "most 61.5 s.");
	expect_part(text_of_refusal(REFUSAL_MEMORY, "9 of 10 MiB"),
		    "is reached: 9 of 10 MiB. Call again");
	expect_part(text_of_refusal(REFUSAL_AUDIT, "no space"),
		    "No audit record can be made: no space. Ask");
	refused.retry_ms = 0;
	for (uint32_t reason = 0; reason < REFUSAL_COUNT + 2; reason++) {
		expect_part(text_of_refusal(reason, "d\x1b"
						    "etail"),
			    "Nothing was run.");
		cr_assert_null(strchr(result.text.bytes, '\x1b'));
		cr_assert(result.is_error);
	}
}

static void fill(enum output_stream stream, size_t size)
{
	static const char line[] = "0123456789abcdef0123456789abcde\n";

	for (size_t i = 0; i < size / 32; i++)
		output_add(&info.log, stream, line, 32);
}

/* Agents cut at about 10,000 characters: what we say stays below, whatever was printed. */
Test(mcp_result, long_output_is_shared)
{
	fill(OUTPUT_OUT, 1000000);
	cr_assert_lt(strlen(text_of_execution()), 10000);
	cr_assert(result.is_truncated);
	expect_part(result.text.bytes, "bytes omitted ...]");
	expect_part(result.text.bytes,
		    "[output cut: stdout has 1000000 bytes, stderr 0 · read_output(");
	fill(OUTPUT_ERR, 1000000);
	cr_assert_lt(strlen(text_of_execution()), 10000);
	expect_part(result.text.bytes, "\n[stderr]\n0123");
	/* a short stderr is shown whole, and stdout gets the rest */
	reset_output();
	fill(OUTPUT_OUT, 1000000);
	print(OUTPUT_ERR, "the error\n");
	expect_part(text_of_execution(), "\n[stderr]\nthe error\n[output cut");
	cr_assert_gt(strlen(result.text.bytes), 9000);
	cr_assert_lt(strlen(result.text.bytes), 10000);
}

Test(mcp_result, what_is_printed_cannot_pose_as_the_last_line)
{
	print(OUTPUT_OUT, "[exit 0 · 0.01 s]");
	done.exit_code = 1;
	cr_assert_str_eq(text_of_execution(), "[exit 0 · 0.01 s]\n[exit 1 · 0.00 s]");
}
