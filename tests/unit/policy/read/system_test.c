/* SPDX-License-Identifier: Apache-2.0
 *
 * `system: writable` of a profile without an image: its root, overlays, places and rights.
 */
#include "web.h"

#include <criterion/criterion.h>
#include <linux/landlock.h>
#include <string.h>

static const struct plan_mount *find_shown(const struct plan_profile *profile, const char *target)
{
	const struct plan_mount *mounts = plan_mounts(&loaded.plan, profile);
	const struct plan_mount *found = NULL;

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (strcmp(plan_string(&loaded.plan, mounts[i].target), target) == 0)
			found = &mounts[i];
	}
	cr_assert_not_null(found, "%s", target);
	return found;
}

/* All rules of a path together. */
static uint64_t all_rights_of(const struct plan_profile *profile, const char *path)
{
	uint64_t rights = 0;

	for (uint32_t i = 0; i < profile->rule_count; i++) {
		const struct plan_rule *rule = &plan_rules(&loaded.plan, profile)[i];

		if (strcmp(plan_string(&loaded.plan, rule->path), path) == 0)
			rights |= rule->rights;
	}
	return rights;
}

#define SYSTEM "profiles:\n  - {name: mine, extends: default, system: writable}\n"

Test(system, each_sandbox_has_its_own_without_an_image)
{
	static const char *const tops[] = { "/usr", "/etc", "/opt", "/var" };
	const struct plan_profile *profile;
	const struct plan_mount *mounts, *usr;

	compile_loaded(load_file(SYSTEM));
	profile = find_compiled("mine");
	mounts = plan_mounts(&loaded.plan, profile);
	usr = find_shown(profile, "/usr");
	cr_expect_eq(mounts[0].kind, PLAN_IMAGE);
	cr_expect_str_eq(plan_string(&loaded.plan, mounts[0].place), "system");
	cr_expect_eq(profile->image, 0U);
	cr_expect_eq(usr->kind, PLAN_OVERLAY);
	cr_expect_str_eq(plan_string(&loaded.plan, usr->source), "/usr");
	cr_expect_str_eq(plan_string(&loaded.plan, usr->place), "system-usr");
	for (uint32_t i = 0; i < profile->mount_count; i++)
		cr_expect_eq(mounts[i].phase, PLAN_PHASE_SANDBOX);
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++)
		cr_expect_neq(all_rights_of(profile, tops[i]) & LANDLOCK_ACCESS_FS_MAKE_REG, 0U,
			      "%s", tops[i]);
	for (uint32_t i = 0; i < profile->language_count; i++)
		cr_expect_eq(plan_languages(&loaded.plan, profile)[i].standby, 0U);
	unload();
}

Test(system, a_child_can_close_it_again)
{
	const struct plan_profile *profile;
	const struct plan_mount *usr;

	compile_loaded(load_file(SYSTEM "  - {name: child, extends: mine, system: read-only}\n"));
	profile = find_compiled("child");
	usr = find_shown(profile, "/usr");
	cr_expect_neq(plan_mounts(&loaded.plan, profile)[0].kind, PLAN_IMAGE);
	cr_expect_eq(usr->kind, PLAN_BIND);
	cr_expect_eq(usr->place, 0U);
	cr_expect_eq(usr->phase, PLAN_PHASE_BASE);
	cr_expect_eq(all_rights_of(profile, "/usr") & LANDLOCK_ACCESS_FS_WRITE_FILE, 0U);
	cr_expect_eq(all_rights_of(profile, "/var"), 0U);
	unload();
}
