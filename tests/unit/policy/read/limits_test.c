/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables by which runtimes keep to a profile's limits.
 */
#include "web.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(limits, variables_follow_from_memory_and_processors)
{
	compile("  limits: {memory: 1000M, cpu_percent: 250}\n");
	cr_expect_str_eq(find_variable("web", "JDK_JAVA_OPTIONS"),
			 "-XX:MaxRAM=1000m -XX:ActiveProcessorCount=3");
	cr_expect_str_eq(find_variable("web", "NODE_OPTIONS"), "--max-old-space-size=700");
	cr_expect_str_eq(find_variable("web", "GOMEMLIMIT"), "900MiB");
	cr_expect_str_eq(find_variable("web", "DOTNET_GCHeapHardLimit"), "2bc00000");
	cr_expect_str_eq(find_variable("web", "CARGO_BUILD_JOBS"), "3");
	cr_expect_str_eq(find_variable("default", "JDK_JAVA_OPTIONS"),
			 "-XX:MaxRAM=2048m -XX:ActiveProcessorCount=2");
	unload();
}

Test(limits, a_variable_of_the_profile_stays)
{
	compile("  environment: [GOMEMLIMIT=1MiB, NODE_OPTIONS=]\n");
	cr_expect_str_eq(find_variable("web", "GOMEMLIMIT"), "1MiB");
	cr_expect_str_eq(find_variable("web", "NODE_OPTIONS"), "");
	unload();
}

Test(limits, without_a_limit_of_processors_there_is_no_number)
{
	compile("  limits: {cpu_percent: 0}\n");
	cr_expect_str_eq(find_variable("web", "GOMAXPROCS"), "");
	cr_expect_str_eq(find_variable("web", "JDK_JAVA_OPTIONS"), "-XX:MaxRAM=2048m");
	unload();
}

Test(limits, a_terminal_can_have_a_time_of_its_own)
{
	compile("  limits: {wall_terminal: none}\n");
	cr_expect_eq(find_compiled("web")->wall_terminal_ms, PLAN_WALL_NONE);
	cr_expect_eq(find_compiled("default")->wall_terminal_ms, 0U, "as others");
	expect_shown("  wall_terminal none (web.yaml:5)\n");
	unload();
	compile("  limits: {wall_terminal: 8h}\n");
	cr_expect_eq(find_compiled("web")->wall_terminal_ms, 8U * 60 * 60 * 1000);
	unload();
	cr_expect_not(load("  limits: {wall_terminal: never}\n"));
	cr_expect_str_eq(mistake.text,
			 "web.yaml:5: profiles[0].limits.wall_terminal: \"never\" is not "
			 "understood; expected a time such as 30m or 8h, or none");
	unload();
	cr_expect_not(load("  limits: {wall_terminal: 31d}\n"));
	cr_expect_not_null(strstr(mistake.text, "31d is out of range; expected 100ms to 30d"));
	unload();
	cr_expect_not(load("  limits: {wall_terminal: 4294967295ms}\n"), "the number for none");
	unload();
	cr_expect_not(load("  limits: {wall_max: none}\n"), "of no other key");
	unload();
}

/* Load a profile with a share of the memory of a machine, and return its memory in MiB. */
static uint64_t memory_on(uint64_t machine_mib, const char *limits)
{
	static const char before[] = "profiles: [{name: web, extends: default, limits: {";
	char text[256];
	uint64_t mib;

	(void)snprintf(text, sizeof(text), "%s%s}}]\n", before, limits);
	loaded = (struct builtin){ .policy = policy_new() };
	policy_run_on(loaded.policy, machine_mib << 20);
	cr_assert_eq(policy_add_builtin(loaded.policy, &mistake), 0);
	cr_assert_eq(policy_add(loaded.policy, "web.yaml", text, strlen(text), &mistake), 0, "%s",
		     mistake.text);
	mib = policy_find(loaded.policy, "web")->numbers.memory_bytes >> 20;
	unload();
	return mib;
}

Test(limits, the_memory_can_be_bounded_by_a_share_of_the_machines)
{
	cr_expect_eq(memory_on(24000, "memory: 8G, memory_share: 50"), 8192U);
	cr_expect_leq(memory_on(8000, "memory: 8G, memory_share: 50"), 4000U);
	cr_expect_geq(memory_on(8000, "memory: 8G, memory_share: 50"), 3999U);
	cr_expect_eq(memory_on(0, "memory: 8G, memory_share: 50"), 8192U, "it is not known");
	cr_expect_eq(memory_on(20, "memory: 8G, memory_share: 50"), 16U, "the least");
	cr_expect_eq(memory_on(100, "memory: 8G"), 8192U);
}

Test(limits, helpers_have_none)
{
	compile("");
	cr_expect_str_eq(find_variable("_helper", "GOMEMLIMIT"), "");
	unload();
}
