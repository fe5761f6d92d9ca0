/* SPDX-License-Identifier: Apache-2.0
 *
 * The runner of a profile: the key, its mistakes, and its words in the plan.
 */
#include "web.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "policy/write/facts.h"
#include "policy/write/show.h"

#define RUNNER "  runner: [/usr/bin/env, A=b]\n"

static void expect_list(uint32_t offset, uint32_t size, const char *expected, size_t expected_size)
{
	cr_assert_eq(size, expected_size);
	cr_expect_eq(memcmp(plan_bytes(&loaded.plan, offset), expected, expected_size), 0);
}

Test(runner, it_is_before_the_shell_and_each_language)
{
	static const char before[] = "/usr/bin/env\0A=b";
	static const char shell[] = "/usr/bin/env\0A=b\0/bin/bash\0-c";
	const struct plan_profile *profile;

	compile(RUNNER "- {name: below, extends: web, description: d}\n"
		       "- {name: free, extends: web, description: d, runner: []}\n");
	profile = find_compiled("below");
	expect_list(profile->shell, profile->shell_size, shell, sizeof(shell));
	expect_list(profile->shell, profile->runner_size, before, sizeof(before));
	for (uint32_t i = 0; i < profile->language_count; i++) {
		const struct plan_language *language = &plan_languages(&loaded.plan, profile)[i];

		cr_assert_geq(language->argv_size, sizeof(before));
		expect_list(language->argv, sizeof(before), before, sizeof(before));
		cr_expect_eq(language->standby, 0, "it would wait without its runner");
	}
	cr_expect_eq(find_compiled("free")->runner_size, 0);
	cr_expect_eq(find_compiled("default")->runner_size, 0);
	expect_shown("runner: /usr/bin/env A=b (web.yaml:5)\n");
	unload();
}

Test(runner, it_is_compared)
{
	struct buffer text = { .bytes = NULL };

	compile(RUNNER "- {name: free, extends: web, description: d, runner: []}\n");
	policy_diff(policy_find(loaded.policy, "web"), policy_find(loaded.policy, "free"), &text);
	cr_expect_not_null(strstr(text.bytes, "- runner: /usr/bin/env A=b (web.yaml:5)\n"), "%s",
			   text.bytes);
	buffer_done(&text);
	unload();
}

Test(runner, mistakes)
{
	static const struct {
		const char *value, *part;
	} rows[] = {
		{ "[env]", "\"env\" is not a path; expected that of a program in the sandbox" },
		{ "[/usr/../env]", "is not a path" },
		{ "[/nowhere/env]", "/nowhere/env is not in the sandbox" },
		{ "[/workspace/env]", "would be a file that a workload can write" },
		{ "[/etc/passwd]", "/etc/passwd is not in the sandbox" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char keys[128];

		(void)snprintf(keys, sizeof(keys), "  runner: %s\n", rows[i].value);
		cr_expect_not(load(keys), "%s", rows[i].value);
		cr_expect_not_null(strstr(mistake.text, "web.yaml:5: profiles[0].runner: "), "%s",
				   mistake.text);
		cr_expect_not_null(strstr(mistake.text, rows[i].part), "%s", mistake.text);
		unload();
	}
}

Test(runner, the_machine_is_shown_by_its_directory)
{
	uint32_t machines = 0;

	compile("  files: [{at: /run/vm, kind: bind, from: /@vm}]\n  runner: [/run/vm/msp-vm]\n");
	for (uint32_t i = 0; i < find_compiled("web")->mount_count; i++) {
		const struct plan_mount *mount =
			&plan_mounts(&loaded.plan, find_compiled("web"))[i];

		if (mount->flags & PLAN_MACHINE) {
			machines++;
			cr_expect_str_eq(plan_string(&loaded.plan, mount->target), "/run/vm");
			cr_expect(mount->flags & PLAN_PINNED);
		}
	}
	cr_expect_eq(machines, 1);
	unload();
}
