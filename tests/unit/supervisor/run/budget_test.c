/* SPDX-License-Identifier: Apache-2.0
 *
 * The budget for all sandboxes together: what is beyond it is refused with a reason and a time.
 */
#include "run/budget.h"
#include "run/sandbox.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "fake_cgroup.h"
#include "rig.h"

#define MIB ((uint64_t)1 << 20)

static struct rig rig;
static char detail[IPC_LIST_MAX];
static uint32_t retry_ms;

static void open_rig(void)
{
	rig_open_welcomed(&rig);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(budget, .init = open_rig, .fini = close_rig, .timeout = 60);

static enum refusal check_joining(const struct sandbox *joins)
{
	return budget_check(plan_profile(&supervisor.plan, 0), joins, detail, &retry_ms);
}

static enum refusal check(void)
{
	return check_joining(NULL);
}

static const struct ipc_execution_refused *take_refusal(void)
{
	return rig_body(&rig.frontend, execution_refused);
}

Test(budget, what_fits_is_not_refused)
{
	cr_assert_eq(check(), REFUSAL_NONE);
	cr_assert_eq(supervisor.executions_refused, 0);
}

Test(budget, the_operators_most_is_kept_and_said)
{
	const struct ipc_execution_refused *refused;
	struct rig_sandbox sandbox;

	supervisor.executions_max = 1;
	sandbox = rig_begin(&rig, 1);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(2), NULL);
	refused = take_refusal();
	cr_assert_eq(refused->request, 2);
	cr_assert_eq(refused->reason, REFUSAL_BUSY);
	cr_assert_str_eq(refused->detail, "1 of 1 executions");
	cr_assert_gt(refused->retry_ms, 0);
	cr_assert_leq(refused->retry_ms, plan_profile(&supervisor.plan, 0)->wall_default_ms);
	cr_assert_eq(supervisor.executions_refused, 1);
	cr_assert_eq(supervisor.executions_started, 1);
	rig_fail(&rig, sandbox.slot, STAGE_BASE, 1);
	(void)rig_take_done(&rig, 1);
	cr_assert_eq(supervisor.executions_live, 0);
	rig_end(&sandbox);
	sandbox = rig_begin(&rig, 3);
	rig_end(&sandbox);
}

/* Nobody measures all together in the fallback: what the profiles allow is reserved. */
Test(budget, the_fallback_reserves)
{
	const uint64_t one = plan_profile(&supervisor.plan, 0)->memory_bytes;
	struct rig_sandbox sandbox;

	supervisor.memory_bytes = 2 * one - 1;
	sandbox = rig_begin(&rig, 1);
	cr_assert_eq(sandbox_memory_used(), one);
	cr_assert_eq(check(), REFUSAL_MEMORY);
	cr_assert_eq(check_joining(&(struct sandbox){ .state = SANDBOX_COLD }), REFUSAL_MEMORY);
	cr_assert_eq(check_joining(&(struct sandbox){ .state = SANDBOX_LIVE }), REFUSAL_NONE,
		     "what it may have is counted already");
	supervisor.memory_bytes = 2 * one;
	cr_assert_eq(check(), REFUSAL_NONE);
	rig_fail(&rig, sandbox.slot, STAGE_BASE, 1);
	cr_assert_eq(sandbox_memory_used(), 0);
	rig_end(&sandbox);
}

static void measure(const char *anon, const char *shmem, const char *kernel, const char *slab)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "anon %s\nfile 99999999999\nkernel %s\nshmem %s\ninactive_anon 5\n"
		       "slab_reclaimable %s\n",
		       anon, kernel, shmem, slab);
	fake_cgroup_say("memory.stat", text);
}

Test(budget, with_cgroups_it_is_measured)
{
	supervisor.cgroup = fake_cgroup_open();
	supervisor.memory_bytes = 100 * MIB;
	measure("41943040", "20971520", "10485760", "0"); /* 40, 20 and 10 MiB */
	cr_assert_eq(sandbox_memory_used(), 70 * MIB);
	cr_assert_eq(check(), REFUSAL_NONE);
	measure("41943040", "41943040", "16777216", "1048576");
	cr_assert_eq(sandbox_memory_used(), 95 * MIB);
	cr_assert_eq(check(), REFUSAL_MEMORY);
	cr_assert_str_eq(detail, "95 of 100 MiB");
	fake_cgroup_close();
	supervisor.cgroup = -1;
}

/* Files of the host that sandboxes have read are given back when there is need. */
Test(budget, what_can_be_given_back_is_not_counted)
{
	supervisor.cgroup = fake_cgroup_open();
	measure("0", "0", "1048576", "1048576");
	cr_assert_eq(sandbox_memory_used(), 0);
	fake_cgroup_close();
	supervisor.cgroup = -1;
}

Test(budget, no_limit_needs_no_measuring)
{
	supervisor.cgroup = fake_cgroup_open(); /* without memory.stat */
	cr_assert_eq(check(), REFUSAL_NONE);
	fake_cgroup_close();
	supervisor.cgroup = -1;
}
