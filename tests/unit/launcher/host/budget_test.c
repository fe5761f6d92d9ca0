/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/budget.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "common/fd.h"

#define GIB ((uint64_t)1 << 30)

Test(budget, memory_max)
{
	cr_expect_eq(budget_parse_number("max"), 0UL);
	cr_expect_eq(budget_parse_number(""), 0UL);
	cr_expect_eq(budget_parse_number("-1"), 0UL);
	cr_expect_eq(budget_parse_number("1024x"), 0UL);
	cr_expect_eq(budget_parse_number("99999999999999999999999"), 0UL);
	cr_expect_eq(budget_parse_number("1073741824"), GIB);
}

Test(budget, three_quarters_of_the_lower)
{
	cr_expect_eq(budget_share(8 * GIB, 0), 6 * GIB);
	cr_expect_eq(budget_share(8 * GIB, 4 * GIB), 3 * GIB);
	cr_expect_eq(budget_share(4 * GIB, 8 * GIB), 3 * GIB);
	cr_expect_eq(budget_share(0, 4 * GIB), 3 * GIB);
	cr_expect_eq(budget_share(0, 0), 0UL);
	cr_expect_eq(budget_share(UINT64_MAX, 0), UINT64_MAX - UINT64_MAX / 4);
}

static uint64_t machine(void)
{
	struct sysinfo info;

	cr_assert_eq(sysinfo(&info), 0);
	return (uint64_t)info.totalram * info.mem_unit;
}

static uint64_t memory_with(const char *text)
{
	struct budget budget = { .memory_bytes = BUDGET_MEMORY_DEFAULT };
	char root[] = "/tmp/msp-budget-XXXXXX";
	int folder;

	cr_assert(mkdtemp(root));
	folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (text) {
		int file = openat(folder, "memory.max", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		cr_assert_eq(fd_write_all(file, text, strlen(text)), 0);
		fd_close(&file);
	}
	budget_complete(&budget, folder);
	(void)unlinkat(folder, "memory.max", 0);
	fd_close(&folder);
	cr_assert_eq(rmdir(root), 0);
	return budget.memory_bytes;
}

Test(budget, the_default)
{
	struct budget budget = { .memory_bytes = BUDGET_MEMORY_DEFAULT };

	cr_expect_eq(memory_with("max\n"), budget_share(machine(), 0));
	cr_expect_eq(memory_with("67108864\n"), (uint64_t)48 << 20);
	cr_expect_eq(memory_with(NULL), budget_share(machine(), 0), "a root cgroup");
	budget_complete(&budget, -1);
	cr_expect_eq(budget.executions, (uint32_t)EXECUTIONS_DEFAULT);
	cr_expect_eq(budget.memory_bytes, 0UL, "without cgroups there is none");
}

Test(budget, what_was_said_stays)
{
	struct budget budget = { .executions = 3, .memory_bytes = GIB };
	struct budget none = { .memory_bytes = 0 };

	budget_complete(&budget, -1);
	cr_expect_eq(budget.executions, 3U);
	cr_expect_eq(budget.memory_bytes, GIB);
	budget_complete(&none, open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	cr_expect_eq(none.memory_bytes, 0UL);
}
