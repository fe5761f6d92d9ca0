/* SPDX-License-Identifier: Apache-2.0
 *
 * What an init reports, and what the frontend hears of it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_init.h"
#include "common/records/denial.h"
#include "rig.h"
#include "run/execution.h"

static struct rig rig;

static void open_rig(void)
{
	rig_open_welcomed(&rig);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(verdict, .init = open_rig, .fini = close_rig, .timeout = 60);

/* One execution that ends so. Static storage until the next. */
static const struct ipc_execution_done *done_for(struct ipc_spawn_done report)
{
	static struct ipc_execution_done done;
	static uint64_t number;
	struct rig_sandbox sandbox = rig_begin(&rig, ++number);

	rig_answer(&rig, &sandbox);
	report.slot = sandbox.slot;
	rig_send(&sandbox.init, IPC_TYPE_spawn_done, &report, NULL);
	done = *rig_take_done(&rig, number);
	rig_end(&sandbox);
	return &done;
}

Test(verdict, exited)
{
	const struct ipc_execution_done *done = done_for((struct ipc_spawn_done){
		.status = 7 << 8, .is_whole = 1, .cpu_us = 5, .peak_bytes = 6 });

	cr_assert_eq(done->verdict, VERDICT_EXITED);
	cr_assert_eq(done->exit_code, 7);
	cr_assert_eq(done->signal, 0);
	cr_assert_eq(done->stage, STAGE_NONE);
	cr_assert_eq(done->error, 0);
	cr_assert_eq(done->cpu_us, 5, "without a cgroup the init's numbers count");
	cr_assert_eq(done->peak_bytes, 6);
	cr_assert_eq(done_for((struct ipc_spawn_done){ .status = 255 << 8 })->exit_code, 255);
	cr_assert_eq(done_for((struct ipc_spawn_done){ .status = 0 })->exit_code, 0);
}

Test(verdict, figures_that_miss_a_process_judge_and_are_not_told)
{
	const struct ipc_execution_done *done = done_for(
		(struct ipc_spawn_done){ .status = SIGKILL, .cpu_us = 3750000, .peak_bytes = 6 });

	cr_assert_eq(done->verdict, VERDICT_CPU_TIME);
	cr_assert_eq(done->cpu_us, 0);
	cr_assert_eq(done->peak_bytes, 0);
}

Test(verdict, of_signals)
{
	static const struct {
		uint32_t signal, verdict;
		uint64_t cpu_us;
	} rows[] = {
		{ SIGSEGV, VERDICT_SIGNALLED, 0 },      { SIGTERM, VERDICT_SIGNALLED, 6000000 },
		{ SIGSYS, VERDICT_DENIED, 0 },          { SIGSYS, VERDICT_DENIED, 6000000 },
		{ SIGXCPU, VERDICT_CPU_TIME, 0 },       { SIGKILL, VERDICT_SIGNALLED, 3749999 },
		{ SIGKILL, VERDICT_CPU_TIME, 3750000 }, { SIGXFSZ, VERDICT_DISK, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ipc_execution_done *done = done_for((struct ipc_spawn_done){
			.status = rows[i].signal, .cpu_us = rows[i].cpu_us });

		cr_expect_eq(done->verdict, rows[i].verdict, "row %zu: %s", i,
			     verdict_name(done->verdict));
		cr_expect_eq(done->signal, rows[i].signal, "row %zu", i);
		cr_expect_eq(done->exit_code, 0, "row %zu", i);
	}
}

Test(verdict, a_core_dump_is_a_signal)
{
	const struct ipc_execution_done *done =
		done_for((struct ipc_spawn_done){ .status = SIGSYS | 0x80 });

	cr_assert_eq(done->verdict, VERDICT_DENIED);
	cr_assert_eq(done->signal, SIGSYS);
}

Test(verdict, without_a_limit_no_signal_means_cpu_time)
{
	small_plan.profiles[0].cpu_seconds = 0;
	cr_assert_eq(done_for((struct ipc_spawn_done){ .status = SIGXCPU })->verdict,
		     VERDICT_SIGNALLED);
	cr_assert_eq(done_for((struct ipc_spawn_done){ .status = SIGKILL, .cpu_us = UINT64_MAX })
			     ->verdict,
		     VERDICT_SIGNALLED);
}

Test(verdict, over_memory)
{
	const struct ipc_execution_done *done =
		done_for((struct ipc_spawn_done){ .status = SIGKILL, .over_memory = 1 });

	cr_assert_eq(done->verdict, VERDICT_MEMORY);
	cr_assert_eq(done->signal, SIGKILL);
}

Test(verdict, over_pids)
{
	const struct ipc_execution_done *done =
		done_for((struct ipc_spawn_done){ .status = 1 << 8, .over_pids = 1 });

	cr_assert_eq(done->verdict, VERDICT_PIDS);
	cr_assert_eq(done->exit_code, 1);
	cr_assert_eq(
		done_for((struct ipc_spawn_done){ .status = SIGABRT, .over_pids = 1 })->verdict,
		VERDICT_PIDS);
	cr_assert_eq(done_for((struct ipc_spawn_done){ .over_pids = 1 })->verdict, VERDICT_EXITED,
		     "it coped");
}

Test(verdict, over_disk)
{
	const struct ipc_execution_done *done =
		done_for((struct ipc_spawn_done){ .status = 2 << 8, .over_disk = 1 });

	cr_assert_eq(done->verdict, VERDICT_DISK);
	cr_assert_eq(done->exit_code, 2);
	cr_assert_eq(done_for((struct ipc_spawn_done){ .status = SIGBUS, .over_disk = 1 })->verdict,
		     VERDICT_DISK);
	cr_assert_eq(done_for((struct ipc_spawn_done){ .status = SIGSYS, .over_disk = 1 })->verdict,
		     VERDICT_DENIED, "that is what ended it");
	cr_assert_eq(done_for((struct ipc_spawn_done){
				      .status = SIGKILL, .over_disk = 1, .over_memory = 1 })
			     ->verdict,
		     VERDICT_MEMORY);
}

Test(verdict, a_failed_start_is_internal_with_its_stage)
{
	const struct ipc_execution_done *done = done_for(
		(struct ipc_spawn_done){ .stage = STAGE_EXEC, .error = ENOENT, .status = 9 });

	cr_assert_eq(done->verdict, VERDICT_INTERNAL);
	cr_assert_eq(done->stage, STAGE_EXEC);
	cr_assert_eq(done->error, ENOENT);
	cr_assert_eq(done->signal, 0);
}

Test(verdict, a_failed_init_is_internal_with_its_stage)
{
	const struct ipc_init_failed failed = { STAGE_ROOT, EPERM };
	struct rig_sandbox sandbox = rig_begin(&rig, 7);

	rig_answer(&rig, &sandbox);
	rig_send(&sandbox.init, IPC_TYPE_init_failed, &failed, NULL);
	rig_take_internal(&rig, 7, STAGE_ROOT, EPERM);
	rig_end(&sandbox);
}

Test(verdict, what_we_killed_for_counts_more_than_how_it_ended)
{
	const struct ipc_execution_end end = { .request = 7, .reason = END_OUTPUT };
	const struct ipc_spawn_done report = { .status = SIGKILL,
					       .over_memory = 1,
					       .cpu_us = UINT64_MAX };
	struct rig_sandbox sandbox = rig_begin(&rig, 7);

	rig_answer(&rig, &sandbox);
	rig_send(&rig.frontend, IPC_TYPE_execution_end, &end, NULL);
	rig_send(&sandbox.init, IPC_TYPE_spawn_done, &report, NULL);
	cr_assert_eq(rig_take_done(&rig, 7)->verdict, VERDICT_OUTPUT);
	rig_end(&sandbox);
}

Test(verdict, a_start_that_we_killed_did_not_fail)
{
	const struct ipc_execution_end end = { .request = 7, .reason = END_CANCELLED };
	const struct ipc_spawn_done report = { .stage = STAGE_EXEC, .error = ENOENT };
	struct rig_sandbox sandbox = rig_begin(&rig, 7);
	const struct ipc_execution_done *done;

	rig_answer(&rig, &sandbox);
	rig_send(&rig.frontend, IPC_TYPE_execution_end, &end, NULL);
	rig_send(&sandbox.init, IPC_TYPE_spawn_done, &report, NULL);
	done = rig_take_done(&rig, 7);
	cr_assert_eq(done->verdict, VERDICT_CANCELLED);
	cr_assert_eq(done->stage, STAGE_NONE);
	rig_end(&sandbox);
}

/* What an init reports with these denials. */
static struct ipc_spawn_done report_denials(const struct denial *denials, uint32_t size)
{
	struct ipc_spawn_done report = { .status = 1 << 8, .denials_size = size };

	memcpy(report.denials, denials, size);
	return report;
}

Test(verdict, what_was_refused_is_handed_on_with_what_the_limits_refused)
{
	const struct denial mount = { .layer = DENIAL_SECCOMP, .number = 165, .count = 5 };
	struct ipc_spawn_done report = report_denials(&mount, sizeof(mount));
	const struct ipc_execution_done *done;
	struct denials denials;

	report.over_pids = 1;
	report.over_disk = 1;
	done = done_for(report);
	cr_assert(denials_take(&denials, done->denials, done->denials_size));
	cr_assert_eq(denials.size, 3 * sizeof(mount));
	cr_expect_eq(memcmp(&denials.records[0], &mount, sizeof(mount)), 0);
	cr_expect_eq(denials.records[1].layer, DENIAL_PIDS);
	cr_expect_eq(denials.records[2].layer, DENIAL_DISK);
	cr_expect_eq(done_for((struct ipc_spawn_done){ .status = 1 << 8 })->denials_size, 0);
}

Test(verdict, an_init_whose_denials_are_none_is_not_believed)
{
	const struct denial nobody = { .layer = DENIAL_COUNT, .count = 1 };
	const struct ipc_execution_done *done = done_for(report_denials(&nobody, sizeof(nobody)));

	cr_expect_eq(done->verdict, VERDICT_INTERNAL);
	cr_expect_eq(done->denials_size, 0);
	done = done_for(report_denials(&nobody, sizeof(nobody) - 1));
	cr_expect_eq(done->verdict, VERDICT_INTERNAL);
}
