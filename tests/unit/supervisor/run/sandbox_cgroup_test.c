/* SPDX-License-Identifier: Apache-2.0
 *
 * Persistent sandboxes, whose executions have a cgroup each, which is a directory of the test's
 * here.
 */
#include "run/sandbox.h"

#include <criterion/criterion.h>

#include "common/fd.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "fake_cgroup.h"
#include "persistent_rig.h"
#include "run/execution.h"

static struct rig rig;
static struct channel launcher;
static struct store_meta meta;

static void open_rig(void)
{
	persistent_open(&rig, &launcher);
	supervisor.cgroup = fake_cgroup_open();
}

static void close_rig(void)
{
	persistent_close(&rig, &launcher);
	fake_cgroup_close();
}

TestSuite(sandbox_cgroup, .init = open_rig, .fini = close_rig, .timeout = 60);

#define CGROUP "s1056" /* of the first that lasts */

static struct rig_sandbox begin_in_cgroup(void)
{
	struct rig_sandbox sandbox = { .request = 1, .stdio = { -1, -1, -1 } };
	struct channel_message *message;

	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(1, "box"), NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	for (int i = 0; i < 4; i++)
		(void)rig_take(&rig.factory, IPC_TYPE_sandbox_layer);
	(void)rig_take(&rig.factory, IPC_TYPE_sandbox_cgroup);
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_create);
	sandbox.slot = ipc_body(message, sandbox_create)->slot;
	sandbox.init = (struct channel){ message->fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[0] = -1;
	rig_answer(&rig, &sandbox);
	for (int i = 0; i < 3; i++) /* streams, leaf, spawn */
		(void)rig_take(&sandbox.init,
			       (const uint32_t[]){ IPC_TYPE_spawn_stdio, IPC_TYPE_spawn_cgroup,
						   IPC_TYPE_spawn }[i]);
	sandbox.slot = 0;
	return sandbox;
}

Test(sandbox_cgroup, each_execution_has_a_leaf_of_its_own)
{
	const struct ipc_execution_done *done;
	struct rig_sandbox first;

	persistent_make("box", &meta);
	first = begin_in_cgroup();
	fake_cgroup_say(CGROUP "/memory.events", "oom_kill 1\n");
	fake_cgroup_say(CGROUP "/memory.peak", "888\n");
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(2, "box"), NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	(void)rig_take(&first.init, IPC_TYPE_spawn_stdio);
	(void)rig_take(&first.init, IPC_TYPE_spawn_cgroup);
	cr_assert_eq(rig_body(&first.init, spawn)->slot, 1);
	cr_assert(fake_cgroup_has(CGROUP "/e1"));
	execution_kill(execution_find(RIG_FRONTEND, 2), VERDICT_CANCELLED);
	cr_assert_str_eq(fake_cgroup_hear(CGROUP "/e1/cgroup.kill"), "1");
	cr_assert_str_eq(fake_cgroup_hear(CGROUP "/e0/cgroup.kill"), "");
	supervisor.executions[1].verdict = VERDICT_EXITED; /* as if it had not been */
	fake_cgroup_say(CGROUP "/e1/cpu.stat", "usage_usec 777\n");
	rig_send(&first.init, IPC_TYPE_spawn_done,
		 &(struct ipc_spawn_done){ .slot = 1, .status = 1 << 8, .peak_bytes = 5 }, NULL);
	done = rig_take_done(&rig, 2);
	cr_assert_eq(done->verdict, VERDICT_EXITED, "what was killed before was not it");
	cr_assert_eq(done->cpu_us, 777);
	cr_assert_eq(done->peak_bytes, 0, "the init knows its first process alone");
	cr_assert_eq(supervisor.executions[1].state, EXECUTION_DONE, "something is left of it");
	fake_cgroup_clear(CGROUP "/e1");
	rig_run_ms(20);
	cr_assert_eq(supervisor.executions[1].state, EXECUTION_FREE);
	cr_assert_not(fake_cgroup_has(CGROUP "/e1"));
	cr_assert(fake_cgroup_has(CGROUP "/e0"));
	rig_end(&first);
}

Test(sandbox_cgroup, one_out_of_memory_ends_as_a_whole)
{
	struct rig_sandbox first;

	persistent_make("box", &meta);
	first = begin_in_cgroup();
	fake_cgroup_say(CGROUP "/memory.events", "oom_kill 2\n");
	fd_close(&first.init.fd);
	rig_turn();
	cr_assert_eq(rig_take_done(&rig, 1)->verdict, VERDICT_MEMORY);
	rig_end(&first);
}
