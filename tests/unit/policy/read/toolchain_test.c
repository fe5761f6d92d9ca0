/* SPDX-License-Identifier: Apache-2.0
 *
 * `toolchain` of a profile: its bind, its right, its place in PATH, and mistakes.
 */
#include "web.h"

#include <criterion/criterion.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>

static const struct plan_mount *find_mount(const char *target)
{
	const struct plan_profile *profile = find_compiled("web");

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const struct plan_mount *mount = &plan_mounts(&loaded.plan, profile)[i];

		if (strcmp(plan_string(&loaded.plan, mount->target), target) == 0)
			return mount;
	}
	return NULL;
}

static uint64_t find_rights(const char *path)
{
	const struct plan_profile *profile = find_compiled("web");

	for (uint32_t i = 0; i < profile->rule_count; i++) {
		const struct plan_rule *rule = &plan_rules(&loaded.plan, profile)[i];

		if (strcmp(plan_string(&loaded.plan, rule->path), path) == 0)
			return rule->rights;
	}
	return 0;
}

Test(toolchain, it_is_shown_executed_and_first_in_path)
{
	const struct plan_mount *mount;

	compile("  toolchain: [/srv/node, /srv/deno/bin]\n");
	mount = find_mount("/srv/node");
	cr_assert_not_null(mount);
	cr_expect_str_eq(plan_string(&loaded.plan, mount->source), "/srv/node");
	cr_expect_eq(mount->flags, PLAN_PINNED);
	cr_expect(mount->attributes & MOUNT_ATTR_RDONLY);
	cr_expect(find_rights("/srv/node") & LANDLOCK_ACCESS_FS_EXECUTE);
	cr_expect_not(find_rights("/srv/node") & LANDLOCK_ACCESS_FS_WRITE_FILE);
	cr_expect_eq(strncmp(find_variable("web", "PATH"), "/srv/deno/bin:/srv/node/bin:/", 29), 0,
		     "%s", find_variable("web", "PATH"));
	unload();
}

Test(toolchain, in_a_directory_that_is_shown_only_path_changes)
{
	compile("  toolchain: [/usr/local/go]\n");
	cr_expect_null(find_mount("/usr/local/go"));
	cr_expect_eq(strncmp(find_variable("web", "PATH"), "/usr/local/go/bin:/", 19), 0, "%s",
		     find_variable("web", "PATH"));
	unload();
}

Test(toolchain, mistakes)
{
	static const struct {
		const char *value, *part;
	} rows[] = {
		{ "[node]", "\"node\" is not a path; expected an absolute path" },
		{ "[~]", "\"~\" is not a path" },
		{ "[~/]", "is not a path" },
		{ "[~other/node]", "is not a path" },
		{ "[/srv/../node]", "is not a path" },
		{ "[~/node]", "is in a home that is not known here" },
		{ "[/srv/node, /srv/node]", "/srv/node given twice; expected once" },
		{ "[/workspace/node]", "nothing can be put there" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char keys[128];

		(void)snprintf(keys, sizeof(keys), "  toolchain: %s\n", rows[i].value);
		cr_expect_not(load(keys), "%s", rows[i].value);
		cr_expect_not_null(strstr(mistake.text, rows[i].part), "%s", mistake.text);
		unload();
	}
}

/* Load a profile with so many more entries of `files`, and 16 toolchains. */
static bool load_full(int files)
{
	static char text[16384];
	size_t used = (size_t)snprintf(text, sizeof(text),
				       "profiles:\n- name: web\n  extends: default\n"
				       "  description: a full one\n  files:\n");

	for (int i = 0; i < files; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used,
			"    - {at: /t%d, kind: tmpfs, size: 1M, inodes: 1K, mode: 1777}\n", i);
	used += (size_t)snprintf(text + used, sizeof(text) - used, "  toolchain: [/srv/0");
	for (int i = 1; i < 16; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, ", /srv/%d", i);
	(void)snprintf(text + used, sizeof(text) - used, "]\n");
	return load_file(text);
}

/* A profile has 128 entries, however many a plan may have. */
Test(toolchain, more_than_the_profile_has_room_for_are_refused)
{
	cr_expect_not(load_full(45));
	cr_expect_not_null(
		strstr(mistake.text, "one entry too many; expected at most 128 of files"), "%s",
		mistake.text);
	unload();
}
