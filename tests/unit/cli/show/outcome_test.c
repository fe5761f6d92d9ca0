/* SPDX-License-Identifier: Apache-2.0 */
#include "show/outcome.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <signal.h>

#include "common/ipc/ipc_done.h"
#include "common/ipc/refusal.h"
#include "common/text/names.h"

static int code_of(struct ipc_execution_done done)
{
	const struct outcome outcome = { .is_done = true, .done = done };

	return outcome_exit_code(&outcome);
}

#define DONE(...) code_of((struct ipc_execution_done){ __VA_ARGS__ })

Test(outcome, the_workloads_own_end)
{
	cr_expect_eq(DONE(.verdict = VERDICT_EXITED, .exit_code = 0), 0);
	cr_expect_eq(DONE(.verdict = VERDICT_EXITED, .exit_code = 255), 255);
	cr_expect_eq(DONE(.verdict = VERDICT_SIGNALLED, .signal = SIGSEGV), 139);
}

Test(outcome, limits)
{
	cr_expect_eq(DONE(.verdict = VERDICT_TIMEOUT, .signal = SIGKILL), 124);
	cr_expect_eq(DONE(.verdict = VERDICT_MEMORY, .signal = SIGKILL), 137);
	cr_expect_eq(DONE(.verdict = VERDICT_CPU_TIME, .signal = SIGXCPU), 152);
	cr_expect_eq(DONE(.verdict = VERDICT_PIDS), 137, "killed, whatever the signal was");
	cr_expect_eq(DONE(.verdict = VERDICT_PIDS, .exit_code = 3), 3, "it ended by itself");
	cr_expect_eq(DONE(.verdict = VERDICT_DISK, .exit_code = 1), 1);
	cr_expect_eq(DONE(.verdict = VERDICT_DENIED, .signal = SIGSYS), 159);
}

Test(outcome, failed_starts)
{
	cr_expect_eq(DONE(.verdict = VERDICT_INTERNAL, .stage = STAGE_MOUNTS, .error = EPERM), 125);
	cr_expect_eq(DONE(.verdict = VERDICT_INTERNAL, .stage = STAGE_CWD, .error = ENOENT), 125);
	cr_expect_eq(DONE(.verdict = VERDICT_INTERNAL, .stage = STAGE_EXEC, .error = ENOENT), 127);
	cr_expect_eq(DONE(.verdict = VERDICT_INTERNAL, .stage = STAGE_EXEC, .error = EACCES), 126);
	cr_expect_eq(DONE(.verdict = VERDICT_INTERNAL, .stage = STAGE_EXEC, .error = ENOEXEC), 126);
}

Test(outcome, every_verdict_has_a_code)
{
	for (uint32_t verdict = 0; verdict <= VERDICT_COUNT; verdict++) {
		const int code = DONE(.verdict = verdict);

		cr_expect_geq(code, 0);
		cr_expect_leq(code, 255);
	}
}

static int refused(enum refusal reason)
{
	const struct outcome outcome = { .is_refused = true, .refused = { .reason = reason } };

	return outcome_exit_code(&outcome);
}

Test(outcome, refusals)
{
	cr_expect_eq(refused(REFUSAL_PROFILE_UNKNOWN), 64);
	cr_expect_eq(refused(REFUSAL_CWD), 64);
	cr_expect_eq(refused(REFUSAL_ARGV), 64);
	cr_expect_eq(refused(REFUSAL_BUSY), 75, "later it may work");
	cr_expect_eq(refused(REFUSAL_MEMORY), 75);
	cr_expect_eq(refused(REFUSAL_WAITING), 75);
	cr_expect_eq(refused(REFUSAL_RESOURCES), 125);
	cr_expect_eq(refused(REFUSAL_AUDIT), 125);
}

static int gone(int status)
{
	const struct outcome outcome = { .is_supervisor_gone = true, .supervisor_status = status };

	return outcome_exit_code(&outcome);
}

Test(outcome, a_supervisor_that_ended_first)
{
	cr_expect_eq(gone(78 << 8), 78, "it refused, and has said why");
	cr_expect_eq(gone(70 << 8), 125);
	cr_expect_eq(gone(0), 125);
	cr_expect_eq(gone(SIGKILL), 125);
}

Test(outcome, a_service_that_ended_first)
{
	struct outcome outcome = { .is_supervisor_gone = true, .is_service = true };

	cr_expect_eq(outcome_exit_code(&outcome), 75);
	outcome.is_done = true;
	outcome.done = (struct ipc_execution_done){ .verdict = VERDICT_CANCELLED };
	cr_expect_eq(outcome_exit_code(&outcome), 75);
	outcome.done.verdict = VERDICT_STOPPED;
	cr_expect_eq(outcome_exit_code(&outcome), 137, "its sandbox was stopped, the service not");
	outcome.done.verdict = VERDICT_CANCELLED;
	outcome.is_service = false;
	cr_expect_eq(outcome_exit_code(&outcome), 137, "our own supervisor was ended");
	outcome.is_service = true;
	outcome.done =
		(struct ipc_execution_done){ .verdict = VERDICT_INTERNAL, .stage = STAGE_MOUNTS };
	cr_expect_eq(outcome_exit_code(&outcome), 125, "that is no stop");
}

Test(outcome, what_ended_msp_counts_first)
{
	struct outcome outcome = { .is_done = true, .done = { .verdict = VERDICT_CANCELLED } };

	outcome.signal = SIGTERM;
	cr_expect_eq(outcome_exit_code(&outcome), 143);
	outcome.signal = 0;
	outcome.is_reader_gone = true;
	cr_expect_eq(outcome_exit_code(&outcome), 141);
	outcome.is_reader_gone = false;
	outcome.relay_name = "writing standard output";
	outcome.relay_error = ENOSPC;
	cr_expect_eq(outcome_exit_code(&outcome), 125);
}

static void print_end(uint32_t verdict, uint64_t cpu_us, uint64_t peak_bytes)
{
	const struct outcome outcome = { .is_done = true,
					 .done = { .verdict = verdict,
						   .wall_us = 12000,
						   .cpu_us = cpu_us,
						   .peak_bytes = peak_bytes } };

	outcome_print_end(&outcome);
}

Test(outcome, figures_that_are_not_known_are_left_out, .init = cr_redirect_stderr)
{
	print_end(VERDICT_EXITED, 3000, 4096);
	print_end(VERDICT_EXITED, 3000, 0);
	print_end(VERDICT_TIMEOUT, 0, 0);
	cr_expect_stderr_eq_str("msp: exited 0; 12 ms wall, 3 ms CPU, peak 4 KiB\n"
				"msp: exited 0; 12 ms wall, 3 ms CPU\n"
				"msp: timeout; 12 ms wall\n");
}

Test(outcome, a_memory_limit_with_and_without_its_peak, .init = cr_redirect_stderr)
{
	const struct outcome_request request = { .timeout_ms = 0 };
	struct outcome outcome = { .is_done = true,
				   .done = { .verdict = VERDICT_MEMORY, .peak_bytes = 5 << 20 } };

	outcome_explain(&outcome, &request);
	outcome.done.peak_bytes = 0;
	outcome_explain(&outcome, &request);
	cr_expect_stderr_eq_str("msp: memory: killed at the profile's memory limit, peak 5 MiB\n"
				"msp: memory: killed at the profile's memory limit\n");
}
