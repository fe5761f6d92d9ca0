/* SPDX-License-Identifier: Apache-2.0
 *
 * Executions with a cgroup each, which is a directory of the test's here.
 */
#include "run/execution.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/loop.h"
#include "common/fd.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "common/records/denial.h"
#include "fake_cgroup.h"
#include "rig.h"
#include "support.h"

static struct rig rig;

static void open_rig(void)
{
	rig_open_welcomed(&rig);
	supervisor.cgroup = fake_cgroup_open();
}

static void close_rig(void)
{
	rig_close(&rig);
	fake_cgroup_close();
}

TestSuite(execution_cgroup, .init = open_rig, .fini = close_rig, .timeout = 60);

/* As rig_begin(), where the factory and the init are told of cgroups too. */
static struct rig_sandbox begin(uint64_t number)
{
	struct rig_sandbox sandbox = { .request = number, .stdio = { -1, -1, -1 } };
	struct channel_message *message;

	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(number), NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_cgroup);
	sandbox.slot = ipc_body(message, sandbox_cgroup)->slot;
	cr_assert_eq(faccessat(message->fds[0], "e0", F_OK, 0), 0, "the sandbox's, not the leaf");
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_create);
	cr_assert_eq(ipc_body(message, sandbox_create)->slot, sandbox.slot);
	sandbox.init = (struct channel){ message->fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[0] = -1;
	rig_answer(&rig, &sandbox);
	return sandbox;
}

/* In a cgroup the files would be no obstacle. */
static void clear(void)
{
	fake_cgroup_clear("s0/e0");
	fake_cgroup_clear("s0");
}

Test(execution_cgroup, the_init_is_given_the_leaf)
{
	struct rig_sandbox sandbox = begin(1);
	struct channel_message *message;

	(void)rig_take(&sandbox.init, IPC_TYPE_spawn_stdio);
	message = rig_take(&sandbox.init, IPC_TYPE_spawn_cgroup);
	cr_assert_neq(faccessat(message->fds[0], "e0", F_OK, 0), 0);
	cr_assert_eq(faccessat(message->fds[0], "cgroup.kill", F_OK, 0), 0);
	(void)rig_take(&sandbox.init, IPC_TYPE_spawn);
	rig_end(&sandbox);
}

Test(execution_cgroup, the_kernels_numbers_count)
{
	struct rig_sandbox sandbox = begin(1);
	const struct ipc_spawn_done report = { .is_whole = 1, .cpu_us = 1, .peak_bytes = 2 };
	const struct ipc_execution_done *done;

	fake_cgroup_say("s0/cpu.stat", "usage_usec 777\n");
	fake_cgroup_say("s0/memory.peak", "888\n");
	rig_send(&sandbox.init, IPC_TYPE_spawn_done, &report, NULL);
	done = rig_take_done(&rig, 1);
	cr_assert_eq(done->cpu_us, 777);
	cr_assert_eq(done->peak_bytes, 888);
	rig_end(&sandbox);
}

/* The verdict of an execution that ended with `status` and left these texts. */
static uint32_t verdict_of(uint32_t status, const char *memory, const char *pids)
{
	struct rig_sandbox sandbox = begin(1);
	uint32_t verdict;

	fake_cgroup_say("s0/memory.events", memory);
	fake_cgroup_say("s0/pids.events", pids);
	rig_report(&sandbox, status);
	verdict = rig_take_done(&rig, 1)->verdict;
	clear();
	cr_assert(rig_is_killed(&sandbox));
	rig_end(&sandbox);
	rig_run_ms(20); /* it is tried again until it can be removed */
	cr_assert_eq(supervisor.executions[0].state, EXECUTION_FREE);
	return verdict;
}

Test(execution_cgroup, what_the_kernel_did_is_the_verdict)
{
	static const char quiet[] = "max 0\noom_kill 0\n";

	cr_expect_eq(verdict_of(SIGKILL, quiet, quiet), VERDICT_SIGNALLED);
	cr_expect_eq(verdict_of(SIGKILL, "oom_kill 1\n", quiet), VERDICT_MEMORY);
	cr_expect_eq(verdict_of(1 << 8, "oom_kill 1\n", quiet), VERDICT_MEMORY);
	cr_expect_eq(verdict_of(0, "oom_kill 1\n", quiet), VERDICT_EXITED, "it coped");
	cr_expect_eq(verdict_of(1 << 8, quiet, "max 4\n"), VERDICT_PIDS);
	cr_expect_eq(verdict_of(SIGABRT, quiet, "max 4\n"), VERDICT_PIDS);
	cr_expect_eq(verdict_of(0, quiet, "max 4\n"), VERDICT_EXITED, "it coped");
	cr_expect_eq(verdict_of(1 << 8, "oom_kill 1\n", "max 4\n"), VERDICT_MEMORY);
}

Test(execution_cgroup, processes_that_are_killed_at_once_are_one_denial)
{
	struct rig_sandbox sandbox = begin(1);
	struct denials denials;

	fake_cgroup_say("s0/memory.events", "oom_kill 3\n");
	rig_report(&sandbox, SIGKILL);
	const struct ipc_execution_done *done = rig_take_done(&rig, 1);
	cr_assert(denials_take(&denials, done->denials, done->denials_size));
	cr_assert_eq(denials.size, sizeof(denials.records[0]));
	cr_expect_eq(denials.records[0].layer, DENIAL_MEMORY);
	cr_expect_eq(denials.records[0].count, 1);
	clear();
	rig_end(&sandbox);
}

Test(execution_cgroup, an_init_that_the_kernel_killed_for_memory_is_no_fault)
{
	struct rig_sandbox sandbox = begin(1);
	const struct ipc_execution_done *done;

	fake_cgroup_say("s0/memory.events", "oom_kill 1\n");
	fd_close(&sandbox.init.fd);
	rig_turn();
	done = rig_take_done(&rig, 1);
	cr_assert_eq(done->verdict, VERDICT_MEMORY);
	cr_assert_eq(done->signal, SIGKILL);
	cr_assert_eq(done->stage, STAGE_NONE);
	rig_end(&sandbox);
}

Test(execution_cgroup, a_kill_is_for_the_whole_leaf)
{
	struct rig_sandbox sandbox = begin(1);

	cr_assert_str_eq(fake_cgroup_hear("s0/e0/cgroup.kill"), "");
	execution_kill(execution_find(RIG_FRONTEND, 1), VERDICT_CANCELLED);
	cr_assert_str_eq(fake_cgroup_hear("s0/e0/cgroup.kill"), "1");
	rig_end(&sandbox);
}

Test(execution_cgroup, the_slot_waits_until_the_cgroup_is_removed)
{
	struct rig_sandbox sandbox = begin(1);

	rig_report(&sandbox, 0);
	(void)rig_take_done(&rig, 1);
	cr_assert(rig_is_killed(&sandbox));
	rig_run_ms(20);
	cr_assert_eq(supervisor.executions[0].state, EXECUTION_DONE, "something is left in it");
	cr_assert_leq(execution_deadline_us(), clock_now_us() + 10000, "it is tried again soon");
	clear();
	rig_run_ms(20);
	cr_assert_eq(supervisor.executions[0].state, EXECUTION_FREE);
	cr_assert_not(fake_cgroup_has("s0"));
	cr_assert_eq(execution_deadline_us(), UINT64_MAX);
	rig_end(&sandbox);
}

Test(execution_cgroup, without_its_cgroup_nothing_is_started)
{
	const struct channel_message *message;
	const size_t before = fd_count_open();

	fake_cgroup_is_bare();
	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(1), NULL);
	cr_assert_eq(fd_count_open(), before);
	message = rig_take(&rig.frontend, IPC_TYPE_execution_refused);
	cr_assert_eq(ipc_body(message, execution_refused)->reason, REFUSAL_RESOURCES);
	rig_take_nothing(&rig.factory);
	cr_assert_not(fake_cgroup_has("s0"));
}
