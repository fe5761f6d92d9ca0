/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/descriptors.h"

#include <criterion/criterion.h>
#include <sys/resource.h>

Test(descriptors, a_workload_gets_half_at_most)
{
	cr_expect_eq(descriptors_granted(8192, 1024), 1024UL);
	cr_expect_eq(descriptors_granted(8192, 4096), 4096UL);
	cr_expect_eq(descriptors_granted(8192, 4097), 4096UL);
	cr_expect_eq(descriptors_granted(524288, 16384), 16384UL);
	cr_expect_eq(descriptors_granted(0, 16), 0UL);
	cr_expect_eq(descriptors_granted(RLIM_INFINITY, UINT32_MAX), (uint64_t)UINT32_MAX);
}

Test(descriptors, the_limit_is_the_hard_one)
{
	const struct rlimit limit = { 30, 40 };

	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_expect_eq(descriptors_limit(), 40UL);
}
