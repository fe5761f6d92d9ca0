/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy is replaced while executions run; the test plays the launcher that compiles it.
 */
#include "base/generation.h"
#include "front/reload.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_start.h"
#include "front/handlers.h"
#include "rig.h"
#include "run/execution.h"
#include "run/sandbox.h"

static struct rig rig;
static struct channel launcher = { -1, IPC_LAUNCHER, IPC_SUPERVISOR, IPC_SETUP };

static void open_service(void)
{
	int ends[2];

	rig_open_welcomed(&rig);
	supervisor.is_service = true;
	supervisor.generation = 1;
	supervisor.accepts_fallback = true;
	supervisor.generations[0].users = 1; /* it lies in static memory, and is never forgotten */
	cr_assert_eq(channel_pair(ends), 0);
	launcher.fd = ends[0];
	cr_assert_eq(reload_keep_launcher(ends[1]), 0);
}

static void close_service(void)
{
	fd_close(&launcher.fd);
	rig_turn();
	rig_close(&rig);
}

TestSuite(generation, .init = open_service, .fini = close_service, .timeout = 60);

static void expect_question(uint32_t generation)
{
	cr_assert_eq(rig_body(&launcher, policy_ask)->generation, generation);
}

static void answer(void)
{
	const struct ipc_policy_new message = { .generation = supervisor.generation };
	int fd = fd_sealed_from_bytes("plan", &small_plan, sizeof(small_plan));

	cr_assert_geq(fd, 0);
	rig_send(&launcher, IPC_TYPE_policy_new, &message, &fd);
	fd_close(&fd);
}

static uint32_t take_slot(void)
{
	const uint32_t cleared = rig_body(&rig.factory, factory_forget)->slot;
	const uint32_t slot = rig_body(&rig.factory, factory_policy)->slot;

	cr_assert_eq(rig_body(&rig.frontend, policy_changed)->generation, supervisor.generation);
	rig_release();
	cr_assert_eq(cleared, slot);
	return slot;
}

static uint32_t reload(void)
{
	reload_policy();
	expect_question(supervisor.generation);
	answer();
	return take_slot();
}

static void expect_unchanged(void)
{
	cr_assert_eq(supervisor.generation, 1);
	cr_assert_eq(supervisor.plan.slot, 0);
	cr_assert(supervisor.is_reload_failed);
	rig_take_nothing(&rig.factory);
	rig_take_nothing(&rig.frontend);
}

Test(generation, a_new_one_holds_for_what_begins_after_it)
{
	struct rig_sandbox before = rig_begin(&rig, 1), after;

	cr_assert_eq(reload(), 1);
	cr_assert_eq(supervisor.generation, 2);
	cr_assert_not(supervisor.is_reload_failed);
	after = rig_begin(&rig, 2);
	cr_assert_eq(before.generation, 0);
	cr_assert_eq(after.generation, 1);
	cr_assert_eq(supervisor.generations[0].users, 2);
	cr_assert_eq(supervisor.generations[1].users, 1);
	rig_end(&before);
	rig_end(&after);
}

Test(generation, limits_are_those_that_it_began_under)
{
	struct rig_sandbox before = rig_begin(&rig, 1), after;

	small_plan.profiles[0].memory_bytes = 32 << 20;
	(void)reload();
	after = rig_begin(&rig, 2);
	cr_assert_eq(sandbox_profile(supervisor.executions[after.slot].sandbox)->memory_bytes,
		     32 << 20);
	small_plan.profiles[0].memory_bytes = 64 << 20; /* the first one is this memory */
	cr_assert_eq(sandbox_profile(supervisor.executions[before.slot].sandbox)->memory_bytes,
		     64 << 20);
	rig_end(&before);
	rig_end(&after);
}

Test(generation, one_that_nothing_uses_is_forgotten)
{
	struct rig_sandbox sandbox;

	(void)reload();
	sandbox = rig_begin(&rig, 1);
	rig_answer(&rig, &sandbox);
	cr_assert_eq(reload(), 2);
	rig_take_nothing(&rig.factory);
	rig_report(&sandbox, 0);
	(void)rig_take_done(&rig, 1);
	cr_assert(rig_is_killed(&sandbox));
	rig_turn();
	cr_assert_eq(rig_body(&rig.factory, factory_forget)->slot, 1);
	cr_assert_null(supervisor.generations[1].plan.bytes);
	cr_assert_eq(reload(), 1, "the slot is used again");
	rig_end(&sandbox);
}

Test(generation, a_bad_file_changes_nothing)
{
	const struct ipc_policy_bad bad = { .text = "config.yaml:3: limits: unknown key" };
	struct rig_sandbox sandbox;

	reload_policy();
	expect_question(1);
	rig_send(&launcher, IPC_TYPE_policy_bad, &bad, NULL);
	expect_unchanged();
	sandbox = rig_begin(&rig, 1);
	cr_assert_eq(sandbox.generation, 0);
	(void)reload();
	cr_assert_not(supervisor.is_reload_failed, "the next one is good");
	rig_end(&sandbox);
}

Test(generation, what_the_machine_cannot_do_changes_nothing)
{
	small_plan.profiles[0].landlock_abi_min = 60;
	reload_policy();
	expect_question(1);
	answer();
	expect_unchanged();
}

Test(generation, limits_that_are_required_and_not_there_change_nothing)
{
	supervisor.accepts_fallback = false;
	reload_policy();
	expect_question(1);
	answer();
	expect_unchanged();
}

Test(generation, limits_that_it_accepts_itself)
{
	supervisor.accepts_fallback = false;
	small_plan.header.limits_fallback = 1;
	(void)reload();
	cr_assert_not(supervisor.is_reload_failed);
}

Test(generation, brings_its_default_profile)
{
	const struct ipc_policy_changed *changed;

	small_plan.header.default_profile = small_plan.profiles[1].name;
	reload_policy();
	expect_question(1);
	answer();
	(void)rig_take(&rig.factory, IPC_TYPE_factory_forget); /* what may have been in its slot */
	(void)rig_take(&rig.factory, IPC_TYPE_factory_policy);
	changed = rig_body(&rig.frontend, policy_changed);
	cr_assert_str_eq(changed->default_profile, "strict");
	cr_assert_eq(supervisor.default_profile, 1);
}

Test(generation, the_launchers_default_profile_comes_first)
{
	memcpy(supervisor.default_name, "strict", sizeof("strict"));
	(void)reload();
	cr_assert_eq(supervisor.default_profile, 1);
}

Test(generation, one_without_the_default_profile_changes_nothing)
{
	memcpy(supervisor.default_name, "stricter", sizeof("stricter"));
	reload_policy();
	expect_question(1);
	answer();
	expect_unchanged();
}

Test(generation, what_is_no_plan_changes_nothing)
{
	small_plan.header.magic = 0;
	reload_policy();
	expect_question(1);
	answer();
	expect_unchanged();
}

Test(generation, a_wish_during_an_answer_is_asked_again)
{
	reload_policy();
	reload_policy();
	expect_question(1);
	rig_take_nothing(&launcher);
	answer();
	(void)take_slot();
	expect_question(2);
	rig_take_nothing(&launcher);
}

Test(generation, an_answer_to_nothing_ends_the_launchers_channel)
{
	answer();
	rig_take_end(&launcher);
	cr_assert_eq(supervisor.generation, 1);
	cr_assert(supervisor.is_ending);
}

Test(generation, a_launcher_that_is_gone_ends_the_server)
{
	reload_policy();
	fd_close(&launcher.fd);
	rig_turn();
	cr_assert_eq(supervisor.generation, 1);
	cr_assert(supervisor.is_ending);
	cr_assert_neq(supervisor.exit_status, 0);
	rig_take_nothing(&rig.factory);
}

Test(generation, there_are_only_so_many_at_once)
{
	struct rig_sandbox sandboxes[GENERATIONS_MAX];

	for (uint32_t i = 0; i < GENERATIONS_MAX; i++) {
		sandboxes[i] = rig_begin(&rig, i + 1);
		if (i + 1 < GENERATIONS_MAX)
			cr_assert_eq(reload(), i + 1);
	}
	reload_policy();
	expect_question(GENERATIONS_MAX);
	answer();
	cr_assert(supervisor.is_reload_failed);
	cr_assert_eq(supervisor.generation, GENERATIONS_MAX);
	rig_take_nothing(&rig.factory);
	for (uint32_t i = 0; i < GENERATIONS_MAX; i++)
		rig_end(&sandboxes[i]);
}
