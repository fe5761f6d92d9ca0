/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said of refusals, with the built-in profiles.
 */
#include "frontend/denials.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/ipc_execution.h"
#include "support.h"

static struct builtin builtin;
static struct ipc_execution_done done;
static struct denial_views views;

static void open_plan(void)
{
	builtin = builtin_open();
	memset(&done, 0, sizeof(done));
}

static void close_plan(void)
{
	builtin_close(&builtin);
}

TestSuite(denials, .init = open_plan, .fini = close_plan);

static void refuse(uint32_t layer, uint32_t number, uint64_t argument, uint32_t count)
{
	const struct denial denial = {
		.layer = layer, .number = number, .argument = argument, .count = count
	};

	memcpy(done.denials + done.denials_size, &denial, sizeof(denial));
	done.denials_size += (uint32_t)sizeof(denial);
}

static const char *lines_under(const char *profile)
{
	static char lines[DENIALS_TEXT_MAX];

	denials_describe(&builtin.plan, profile, &done, &views);
	denials_put_lines(&views, lines);
	return lines;
}

Test(denials, nothing_is_nothing)
{
	cr_assert_str_eq(lines_under("default"), "");
	cr_assert_eq(views.count, 0);
}

Test(denials, what_no_profile_allows)
{
	refuse(DENIAL_SECCOMP, SYS_mount, 0, 2);
	cr_assert_str_eq(lines_under("default"),
			 "denied: mount (2 times) by seccomp: the file tree is fixed before a "
			 "workload starts (group mount; no profile can allow it)");
	cr_expect_str_eq(views.items[0].layer, "seccomp");
	cr_expect_str_eq(views.items[0].operation, "mount");
	cr_expect_eq(views.items[0].count, 2);
}

Test(denials, what_another_profile_may_allow)
{
	refuse(DENIAL_SECCOMP, SYS_socket, 2, 1);
	(void)lines_under("strict");
	cr_expect_str_eq(views.items[0].operation, "socket");
	cr_expect_str_eq(views.items[0].target, "", "refused whatever the argument was");
	cr_expect(strstr(views.items[0].rule, "group network is not allowed (strict.yaml:") ==
			  views.items[0].rule,
		  "%s", views.items[0].rule);
	cr_expect_str_eq(views.items[0].remedy,
			 "seccomp: {add: [network]} in the operator's profile");
}

Test(denials, what_is_refused_for_its_argument)
{
	refuse(DENIAL_SECCOMP, SYS_socket, 40, 1);
	refuse(DENIAL_SECCOMP, SYS_ioctl, 0x5412, 1);
	(void)lines_under("default");
	cr_expect_str_eq(views.items[0].target, "argument 1 = 0x28");
	cr_expect_str_eq(views.items[0].rule, "the condition on socket");
	cr_expect_not_null(strstr(views.items[0].reason, "unix without datagrams, IPv4 and IPv6"));
	cr_expect_str_eq(views.items[1].target, "argument 2 = 0x5412");
}

Test(denials, limits)
{
	refuse(DENIAL_MEMORY, 0, 0, 1);
	refuse(DENIAL_PIDS, 0, 0, 12);
	refuse(DENIAL_DISK, 0, 0, 1);
	(void)lines_under("strict");
	cr_expect_str_eq(views.items[0].layer, "limits");
	cr_expect_str_eq(views.items[0].rule, "limits: memory: 512 MiB");
	cr_expect_str_eq(views.items[1].rule, "limits: pids: 64");
	cr_expect_eq(views.items[1].count, 12);
	cr_expect_str_eq(views.items[2].operation, "disk");
}

Test(denials, two_lines_are_the_most)
{
	const char *lines;
	const char *second;

	for (uint32_t number = 0; number < DENIALS_MAX; number++)
		refuse(DENIAL_SECCOMP, SYS_mount + number, 0, UINT32_MAX);
	lines = lines_under("default");
	second = strchr(lines, '\n');
	cr_assert_not_null(second);
	cr_expect_null(strchr(second + 1, '\n'));
	cr_expect_not_null(strstr(second, "; and 18 more kinds"));
	cr_expect_eq(strcmp(second + strlen(second) - 19, "; and 18 more kinds"), 0);
}

Test(denials, without_a_plan_there_are_still_numbers)
{
	static char lines[DENIALS_TEXT_MAX];
	const struct plan none = { 0 };

	refuse(DENIAL_SECCOMP, 165, 0, 1);
	refuse(DENIAL_MEMORY, 0, 0, 1);
	denials_describe(&none, "default", &done, &views);
	cr_assert_eq(views.count, 2);
	cr_expect_str_eq(views.items[0].operation, "system call 165");
	denials_describe(NULL, "default", &done, &views);
	cr_assert_eq(views.count, 2);
	denials_put_lines(&views, lines);
	cr_expect_not_null(strstr(lines, "denied: system call 165 by seccomp"));
	(void)lines_under("no such profile");
	cr_expect_str_eq(views.items[0].operation, "system call 165");
}

Test(denials, records_that_cannot_be_are_left_out)
{
	refuse(DENIAL_COUNT, 0, 0, 1);
	cr_expect_str_eq(lines_under("default"), "");
	done.denials_size = 0;
	refuse(DENIAL_SECCOMP, SYS_mount, 0, 1);
	done.denials_size--;
	cr_expect_str_eq(lines_under("default"), "");
}
