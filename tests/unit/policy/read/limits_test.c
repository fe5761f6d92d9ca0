/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables by which runtimes keep to a profile's limits.
 */
#include "web.h"

#include <criterion/criterion.h>
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

Test(limits, helpers_have_none)
{
	compile("");
	cr_expect_str_eq(find_variable("_helper", "GOMEMLIMIT"), "");
	unload();
}
