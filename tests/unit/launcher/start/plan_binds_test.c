/* SPDX-License-Identifier: Apache-2.0
 *
 * The binds of --ro in a plan, which is read again as the supervisor reads it.
 */
#include "launcher/start/plan_binds.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <string.h>

#include "common/fd.h"
#include "hand_plan.h"

static struct config config;
static struct binds binds;
static struct pins pins;
static char text[CONFIG_TEXT_MAX];

static void begin(void)
{
	hand_plan_begin();
	hand_plan_add(PLAN_DIRECTORY, PLAN_PHASE_BASE, "/tmp", NULL);
	hand_plan_add(PLAN_TMPFS, PLAN_PHASE_SANDBOX, "/tmp", "tmpfs");
	hand_plan_allow("/tmp");
	config = (struct config)CONFIG_UNREAD;
	binds.count = 0;
	pins.count = 1;
}

TestSuite(plan_binds, .init = begin);

static void add_bind(const char *host, const char *inside)
{
	struct bind *bind = &binds.list[binds.count++];

	*bind = (struct bind){ .fd = 100 };
	strncpy(bind->host, host, sizeof(bind->host) - 1);
	strncpy(bind->inside, inside, sizeof(bind->inside) - 1);
}

static int add(const char *name)
{
	if (config.plan_fd < 0)
		config.plan_fd = fd_sealed_from_bytes("plan", &hand_plan, sizeof(hand_plan));
	return plan_binds_put(&config, name, &binds, text) == 0
		       ? plan_binds_pin(&config.plan, &binds, &pins, text)
		       : -1;
}

static const char *string(uint32_t offset)
{
	return plan_string(&config.plan, offset);
}

Test(plan_binds, each_is_a_record_with_a_pin_and_a_rule)
{
	add_bind("/home/it", "/it");
	add_bind("/home/that", "/tmp/that");
	cr_assert_eq(add(""), 0, "%s", text);
	const struct plan_profile *profile = plan_profile(&config.plan, 0);
	const struct plan_mount *mounts = plan_mounts(&config.plan, profile);
	const struct plan_rule *rules = plan_rules(&config.plan, profile);

	cr_assert_eq(profile->mount_count, 4U);
	cr_expect_eq(mounts[1].kind, PLAN_TMPFS, "those of the plan stay");
	cr_expect_eq(mounts[2].kind, PLAN_BIND);
	cr_expect_eq(mounts[2].phase, PLAN_PHASE_BASE);
	cr_expect_eq(mounts[3].phase, PLAN_PHASE_SANDBOX, "in a tree of the sandbox's own");
	cr_expect_eq(mounts[2].flags, PLAN_PINNED | PLAN_GIVEN);
	cr_expect_eq(mounts[2].attributes,
		     (uint64_t)(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
	cr_expect_str_eq(string(mounts[2].source), "/home/it");
	cr_expect_str_eq(string(mounts[2].target), "/it");
	cr_assert_eq(profile->rule_count, 3U);
	cr_expect_str_eq(string(rules[2].path), "/tmp/that");
	cr_expect_eq(rules[2].rights & LANDLOCK_ACCESS_FS_WRITE_FILE, 0U);
	cr_assert_eq(pins.count, 3U);
	cr_expect_eq(pins.list[1].fd, 100);
	cr_expect_eq(pins.list[2].mount, 3U);
	config_close(&config);
}

Test(plan_binds, in_a_root_of_the_sandboxs_own_all_are_made_there)
{
	static const char layer[] = "/layer";

	hand_plan.mounts[0].kind = PLAN_IMAGE;
	hand_plan.mounts[0].phase = PLAN_PHASE_SANDBOX;
	hand_plan.mounts[0].attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	hand_plan.profile.layers = hand_plan_put(layer, sizeof(layer));
	hand_plan.profile.layers_size = sizeof(layer);
	add_bind("/home/it", "/it");
	cr_assert_eq(add("default"), 0, "%s", text);
	cr_expect_eq(plan_mounts(&config.plan, plan_profile(&config.plan, 0))[2].phase,
		     PLAN_PHASE_SANDBOX);
	config_close(&config);
}

Test(plan_binds, a_profile_that_there_is_not_is_for_the_supervisor)
{
	add_bind("/home/it", "/it");
	cr_assert_eq(add("other"), 0);
	cr_expect_eq(plan_profile(&config.plan, 0)->mount_count, 2U);
	cr_expect_eq(pins.count, 1U);
	config_close(&config);
}

Test(plan_binds, more_than_fit_are_refused)
{
	pins.count = PINS_MAX;
	add_bind("/home/it", "/it");
	cr_assert_eq(add(""), -1);
	cr_expect(strstr(text, "leave some out"), "%s", text);
	cr_expect_eq(pins.count, PINS_MAX);
	config_close(&config);
}

static void show_folder(const char *target)
{
	struct plan_mount *mount = hand_plan_add(PLAN_BIND, PLAN_PHASE_BASE, target, "/usr");

	mount->attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	hand_plan_add(PLAN_MASK, PLAN_PHASE_SANDBOX, "/dir/share", NULL);
}

Test(plan_binds, a_place_that_the_host_lacks_gets_a_layer_before_what_is_in_it)
{
	show_folder("/dir");
	add_bind("/home/it", "/dir/include/msp-none/it");
	cr_assert_eq(add(""), 0, "%s", text);
	const struct plan_profile *profile = plan_profile(&config.plan, 0);
	const struct plan_mount *mounts = plan_mounts(&config.plan, profile);

	cr_assert_eq(profile->mount_count, 6U);
	cr_expect_eq(mounts[2].kind, PLAN_BIND);
	cr_expect_eq(mounts[3].kind, PLAN_OVERLAY);
	cr_expect_eq(mounts[3].phase, PLAN_PHASE_SANDBOX);
	cr_expect_str_eq(string(mounts[3].target), "/dir/include");
	cr_expect_str_eq(string(mounts[3].source), "/usr/include");
	cr_expect_eq(mounts[3].attributes, (uint64_t)(MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
	cr_expect_eq(mounts[4].kind, PLAN_MASK, "the layer does not cover it");
	cr_expect_eq(mounts[5].phase, PLAN_PHASE_SANDBOX);
	config_close(&config);
}

Test(plan_binds, a_place_that_the_host_has_needs_no_layer)
{
	show_folder("/dir");
	add_bind("/home/it", "/dir/bin");
	cr_assert_eq(add(""), 0, "%s", text);
	cr_expect_eq(plan_profile(&config.plan, 0)->mount_count, 5U);
	cr_expect_eq(plan_mounts(&config.plan, plan_profile(&config.plan, 0))[4].phase,
		     PLAN_PHASE_BASE);
	config_close(&config);
}

static void expect_refusal(const char *inside, const char *part)
{
	binds.count = 0;
	add_bind("/home/it", inside);
	cr_expect_eq(plan_binds_put(&config, "", &binds, text), 64);
	cr_expect_not_null(strstr(text, inside), "%s", text);
	cr_expect_not_null(strstr(text, part), "%s", text);
}

Test(plan_binds, a_place_in_which_nothing_can_be_put_is_refused)
{
	struct plan_mount *mount;

	hand_plan_add(PLAN_FILE, PLAN_PHASE_BASE, "/file", "text");
	mount = hand_plan_add(PLAN_BIND, PLAN_PHASE_BASE, "/write", "/srv");
	mount->flags = PLAN_PINNED;
	mount->attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	show_folder("/dir");
	cr_assert_eq(add(""), 0, "%s", text);
	expect_refusal("/file/x", "kind file");
	expect_refusal("/write/x", "kind bind");
	expect_refusal("/dir/bin/env/x", "kind bind");
	config_close(&config);
}

Test(plan_binds, one_inside_another_is_refused)
{
	add_bind("/home/it", "/data/it");
	add_bind("/home/that", "/data");
	cr_expect_eq(add(""), -1);
	cr_expect_not_null(strstr(text, "lies inside '/data'"), "%s", text);
	config_close(&config);
}
