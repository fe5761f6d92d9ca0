/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/scope.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

Test(scope, what_the_manager_says)
{
	char line[] = "257.9-1~deb13u1 /user.slice/user-1000.slice/user@1000.service";
	const char *group = NULL;
	char version[64];

	cr_expect(scope_parse_manager(line, version, sizeof(version), &group));
	cr_expect_str_eq(version, "257.9-1~deb13u1");
	cr_expect_str_eq(group, "/user.slice/user-1000.slice/user@1000.service");
}

Test(scope, what_no_manager_says)
{
	static const char *const wrong[] = { "",      "257",       "257 ",      " /x",
					     "257 x", "257 /../x", "257 /x/..", "257 /x/../../y" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char line[64];
		const char *group = NULL;
		char version[64];

		(void)strncpy(line, wrong[i], sizeof(line) - 1);
		line[sizeof(line) - 1] = '\0';
		cr_expect_not(scope_parse_manager(line, version, sizeof(version), &group), "%s",
			      wrong[i]);
	}
}

Test(scope, a_service_that_is_starting)
{
	static const struct {
		const char *line;
		bool is_service, is_starting;
	} cases[] = {
		{ "activating start-pre 120000", true, true },
		{ "activating start 7", true, true },
		{ "activating auto-restart 7", true, false },
		{ "activating auto-restart-queued 7", true, false },
		{ "active running 9999", true, true },
		{ "active running 10000", true, false },
		{ "reloading reload 5", true, false },
		{ "deactivating stop-sigterm 5", true, false },
		{ "failed failed 5", true, false },
		{ "inactive dead 18446744073709551", true, false },
		{ "", false, false },
		{ "active", false, false },
		{ "active running", false, false },
		{ "active running x", false, false },
		{ "active running 5 more", false, false },
		{ "257.9 /user.slice 5", false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scope_service service;

		cr_expect_eq(scope_parse_service(cases[i].line, &service), cases[i].is_service,
			     "%s", cases[i].line);
		if (cases[i].is_service)
			cr_expect_eq(scope_is_starting(&service), cases[i].is_starting, "%s",
				     cases[i].line);
	}
}

Test(scope, helps_where_a_cgroup_is_not_ours)
{
	cr_expect(scope_can_help(CGROUP_SHARED));
	cr_expect(scope_can_help(CGROUP_NOT_WRITABLE));
	cr_expect(scope_can_help(CGROUP_CONTROLLERS));
	cr_expect_not(scope_can_help(CGROUP_USABLE));
	cr_expect_not(scope_can_help(CGROUP_ABSENT), "there is no cgroup v2");
}

/* Whatever systemd runs here, this program does not ask it. */
Test(scope, a_program_that_cannot_be_started)
{
	const int image = memfd_create("no program", MFD_CLOEXEC);
	char text[SCOPE_TEXT_MAX] = "";

	cr_assert_geq(image, 0);
	cr_expect_eq(scope_enter(image, text), -1);
	cr_expect_gt(strlen(text), 10U, "the reason is said");
	(void)close(image);
}
