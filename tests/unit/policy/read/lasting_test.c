/* SPDX-License-Identifier: Apache-2.0
 *
 * What a configuration says of persistent sandboxes, and what the plan makes of it.
 */
#include "support.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/ipc/workspace_mode.h"
#include "common/limits.h"
#include "policy/write/compile.h"
#include "policy/write/show.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PROFILE "profiles: [{name: mine, extends: default, "
#define PROFILE_OF(parent) "profiles: [{name: mine, extends: " parent ", "
#define PLACE "files: [{at: /data, kind: tmpfs, size: 1M, inodes: 64, mode: 0700, place: data}]"

static struct policy *policy;
static struct buffer blob;
static struct plan plan;

static void load(const char *text)
{
	struct policy_error error = { .text = "" };

	policy = policy_free(policy);
	buffer_done(&blob);
	blob = (struct buffer){ .bytes = NULL };
	policy = policy_new();
	cr_assert_eq(policy_add_builtin(policy, &error), 0, "%s", error.text);
	cr_assert_eq(policy_add(policy, "mine.yaml", text, strlen(text), &error), 0, "%s",
		     error.text);
	cr_assert_eq(policy_compile(policy, &blob, &error), 0, "%s", error.text);
	cr_assert_eq(plan_open(blob.bytes, blob.size, &plan), 0);
}

static const struct plan_profile *find(const char *name)
{
	const int index = plan_profile_find(&plan, name);

	cr_assert_geq(index, 0, "%s", name);
	return plan_profile(&plan, (uint32_t)index);
}

/* The name of the place at `target`, "" for none. */
static const char *place_at(const char *name, const char *target)
{
	const struct plan_profile *profile = find(name);
	const struct plan_mount *mounts = plan_mounts(&plan, profile);

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (mounts[i].place != 0 &&
		    strcmp(plan_string(&plan, mounts[i].target), target) == 0)
			return plan_string(&plan, mounts[i].place);
	}
	return "";
}

Test(lasting, shipped_profiles_that_last)
{
	static const char *const names[] = { "default", "python-dev", "node-dev",
					     "go-dev",  "rust-dev",   "java-dev" };

	load("{}");
	for (size_t i = 0; i < COUNT(names); i++) {
		const struct plan_profile *profile = find(names[i]);

		cr_expect(plan_lasts(&plan, profile), "%s", names[i]);
		cr_expect_str_eq(place_at(names[i], "/workspace"), PLAN_PLACE_WORKSPACE);
		cr_expect_str_eq(place_at(names[i], "/home/agent"), "home");
		cr_expect_str_eq(place_at(names[i], "/tmp"), "");
		cr_expect_eq(profile->disk_bytes, 4ULL << 30);
		cr_expect_eq(profile->disk_inodes, 1ULL << 20);
		cr_expect_eq(profile->idle_s, 600);
		cr_expect_eq(profile->ttl_default_s, 7 * 86400);
		cr_expect_eq(profile->ttl_max_s, 30 * 86400);
		cr_expect_eq(profile->wall_persistent_ms,
			     strcmp(names[i], "rust-dev") == 0 ? 1200000 : 600000);
		cr_expect_eq(profile->workspace_mode, WORKSPACE_COPY);
		cr_expect_eq(profile->apply, PLAN_APPLY_ASK);
		cr_expect_eq(profile->held_size, 0);
	}
}

Test(lasting, shipped_profiles_that_do_not)
{
	static const char *const names[] = { "strict", "minimal", "_helper" };

	load("{}");
	for (size_t i = 0; i < COUNT(names); i++) {
		cr_expect_not(plan_lasts(&plan, find(names[i])), "%s", names[i]);
		cr_expect_eq(find(names[i])->wall_persistent_ms, find(names[i])->wall_default_ms);
		cr_expect_null(strstr(plan_string(&plan, find(names[i])->text), "\nlasting:"));
	}
	cr_expect_eq(plan_header(&plan)->sandboxes_max, 64);
	cr_expect_eq(plan_header(&plan)->sandboxes_bytes, 20ULL << 30);
}

Test(lasting, none_at_all_can_be_said)
{
	load("sandboxes: {most: 0, disk: 0}\n");
	cr_expect_eq(plan_header(&plan)->sandboxes_max, 0);
	cr_expect_eq(plan_header(&plan)->sandboxes_bytes, 0);
}

Test(lasting, everything_said_is_in_the_plan)
{
	static const char held[] = "*.mk\0scripts/*.sh\0deploy/";
	const struct plan_profile *mine;

	load("sandboxes: {most: 1024, disk: 1024T}\n" PROFILE
	     "lasting: {disk: 1M, inodes: 100, idle: 1s, ttl: 365d, ttl_most: 365d, "
	     "wall_default: 90s, workspace: read-write, apply: agent, hold: ['*.mk', scripts/*.sh, "
	     "deploy/]}}]\n");
	mine = find("mine");
	cr_expect_eq(plan_header(&plan)->sandboxes_max, 1024);
	cr_expect_eq(plan_header(&plan)->sandboxes_bytes, 1ULL << 50);
	cr_expect_eq(mine->disk_bytes, 1U << 20);
	cr_expect_eq(mine->disk_inodes, 100);
	cr_expect_eq(mine->idle_s, 1);
	cr_expect_eq(mine->ttl_default_s, 365 * 86400);
	cr_expect_eq(mine->ttl_max_s, 365 * 86400);
	cr_expect_eq(mine->wall_persistent_ms, 90000);
	cr_expect_eq(mine->workspace_mode, WORKSPACE_WRITE);
	cr_expect_eq(mine->apply, PLAN_APPLY_AGENT);
	cr_assert_eq(mine->held_size, sizeof(held));
	cr_expect_eq(memcmp(plan_bytes(&plan, mine->held), held, sizeof(held)), 0);
}

Test(lasting, a_child_changes_what_it_names)
{
	const struct plan_profile *child;

	load("profiles:\n"
	     "  - {name: mine, extends: default, lasting: {idle: 5m, hold: [a], apply: person}}\n"
	     "  - {name: child, extends: mine, lasting: {workspace: read-only, hold: [b], bridge: "
	     "ask}}\n");
	child = find("child");
	cr_expect_eq(child->idle_s, 300);
	cr_expect_eq(child->disk_bytes, 4ULL << 30);
	cr_expect_eq(child->workspace_mode, WORKSPACE_READ);
	cr_expect_eq(child->apply, PLAN_APPLY_PERSON);
	cr_expect_eq(child->bridge, PLAN_BRIDGE_ASK);
	cr_expect_eq(find("mine")->bridge, PLAN_BRIDGE_PERSON, "the default");
	cr_expect_not_null(
		strstr(plan_string(&plan, child->text), "bridge        ask (mine.yaml:3)"));
	cr_assert_eq(child->held_size, 4);
	cr_expect_eq(memcmp(plan_bytes(&plan, child->held), "a\0b", 4), 0, "the parent's too");
	cr_expect_not_null(strstr(plan_string(&plan, child->text),
				  "lasting:\n  disk          4G (default.yaml:"));
	cr_expect_not_null(
		strstr(plan_string(&plan, child->text), "idle          5m (mine.yaml:2)"));
	cr_expect_not_null(
		strstr(plan_string(&plan, child->text), "hold          a (mine.yaml:2)"));
	cr_expect_not_null(
		strstr(plan_string(&plan, child->text), "hold          b (mine.yaml:3)"));
}

Test(lasting, a_place_of_the_operators)
{
	load("workspaces: [/srv]\n" PROFILE
	     "files: [{at: /cache, kind: bind, from: /srv/cache, place: c-1}]}]\n");
	cr_expect_str_eq(place_at("mine", "/cache"), "c-1");
	cr_expect_not_null(strstr(plan_string(&plan, find("mine")->text),
				  "bind      /cache from /srv/cache, place c-1 (mine.yaml:2)"));
	/* An entry of the same place in the tree takes the old one's place away. */
	load(PROFILE "files: [{at: /home/agent, kind: tmpfs, size: 1M, inodes: 64, mode: 0700}]}]");
	cr_expect_str_eq(place_at("mine", "/home/agent"), "");
	cr_expect_str_eq(place_at("mine", "/workspace"), "workspace");
}

Test(lasting, differences_are_told)
{
	struct buffer text = { .bytes = NULL };

	load(PROFILE "lasting: {ttl: 2d, hold: [x]}}]");
	policy_diff(policy_find(policy, "default"), policy_find(policy, "mine"), &text);
	cr_expect_not_null(strstr(text.bytes, "- lasting: ttl           7d (default.yaml:"));
	cr_expect_not_null(strstr(text.bytes, "+ lasting: ttl           2d (mine.yaml:1)\n"));
	cr_expect_not_null(strstr(text.bytes, "+ lasting: hold          x (mine.yaml:1)\n"));
	cr_expect_null(strstr(text.bytes, "idle"));
	buffer_done(&text);
}

/* clang-format off */
static const struct {
	const char *text;
	const char *expected;
} mistakes[] = {
	{ "sandboxes: 5\n", "mine.yaml:1: sandboxes: expected a set of keys, not a value" },
	{ "sandboxes: {more: 5}\n", "mine.yaml:1: sandboxes.more: unknown key; expected one of: most, disk" },
	{ "requirements: {limits: fallback}\n", "mine.yaml:1: requirements.limits: unknown key: for all profiles it stands at the top of the file; expected a line 'limits: fallback' beside 'requirements'" },
	{ "requirements: {kernel: 6}\n", "mine.yaml:1: requirements.kernel: unknown key; expected one of: landlock" },
	{ "sandboxes: {most: 1025}\n", "mine.yaml:1: sandboxes.most: 1025 is out of range; expected 0 to 1024" },
	{ "sandboxes: {most: all}\n", "mine.yaml:1: sandboxes.most: \"all\" is not understood; expected a whole number" },
	{ "sandboxes:\n  disk: 20\n  most: -1\n", "mine.yaml:3: sandboxes.most: \"-1\" is not understood" },
	{ "sandboxes: {disk: 1025T}\n", "mine.yaml:1: sandboxes.disk: 1025T is out of range; expected 0 to 1024T" },
	{ "sandboxes: {disk: lots}\n", "mine.yaml:1: sandboxes.disk: \"lots\" is not understood; expected a size" },
	{ PROFILE "lasting: {size: 1G}}]", "mine.yaml:1: profiles[0].lasting.size: unknown key; expected one of: disk, inodes, idle, ttl, ttl_most, wall_default, workspace, apply, bridge, hold" },
	{ PROFILE "lasting: 7d}]", "mine.yaml:1: profiles[0].lasting: expected a set of keys, not a value" },
	{ PROFILE "\n  lasting: {\n  disk: 1K}}]", "mine.yaml:3: profiles[0].lasting.disk: 1K is out of range; expected 1M to 1T" },
	{ PROFILE "lasting: {inodes: 99}}]", "profiles[0].lasting.inodes: 99 is out of range; expected 100 to 1G" },
	{ PROFILE "lasting: {inodes: 1m}}]", "profiles[0].lasting.inodes: \"1m\" is not understood; expected an amount such as" },
	{ PROFILE "lasting: {idle: 0s}}]", "profiles[0].lasting.idle: 0s is out of range; expected 1s to 24h" },
	{ PROFILE "lasting: {idle: 500ms}}]", "profiles[0].lasting.idle: \"500ms\" is not understood; expected a span such as" },
	{ PROFILE "lasting: {ttl: 366d}}]", "profiles[0].lasting.ttl: 366d is out of range; expected 1s to 365d" },
	{ PROFILE "lasting: {ttl: 31d}}]", "profiles[0].lasting.ttl: greater than lasting.ttl_most; expected at most as much" },
	{ PROFILE "lasting: {ttl_most: never}}]", "profiles[0].lasting.ttl_most: \"never\" is not understood" },
	{ PROFILE "lasting: {workspace: none}}]", "profiles[0].lasting.workspace: \"none\" is not known; expected copy-on-write, read-only or read-write" },
	{ PROFILE "lasting: {bridge: agent}}]", "profiles[0].lasting.bridge: \"agent\" is not known; expected person or ask" },
	{ PROFILE "lasting: {apply: yes}}]", "profiles[0].lasting.apply: \"yes\" is not known; expected person, ask or agent" },
	{ PROFILE "lasting: {hold: a}}]", "profiles[0].lasting.hold: expected a list, not a value" },
	{ PROFILE "lasting: {hold: [\"@tool\"]}}]",
	  "profiles[0].lasting.hold[0]: \"@tool\" is no group" },
	{ PROFILE "lasting: {hold: [a, a]}}]", "profiles[0].lasting.hold[1]: a is held already" },
	{ PROFILE "lasting: {hold: [/etc]}}]", "profiles[0].lasting.hold[0]: \"/etc\" is not a pattern" },
	{ PROFILE "lasting: {hold: ['']}}]", "profiles[0].lasting.hold[0]: \"\" is not a pattern" },
	{ PROFILE "lasting: {hold: [a, ../b]}}]", "profiles[0].lasting.hold[1]: \"../b\" is not a pattern" },
	{ PROFILE "lasting: {hold: [a//b]}}]", "profiles[0].lasting.hold[0]: \"a//b\" is not a pattern" },
	{ PROFILE "lasting: {hold: [\"a\\nb\"]}}]", "profiles[0].lasting.hold[0]: " },
	{ PROFILE_OF("strict") "lasting: {ttl: 1d}}]", "profiles[0].lasting: this profile keeps no files; expected an entry of files with a place" },
	{ PROFILE_OF("minimal") PLACE "}]", "profiles[0].lasting.disk: missing; expected a size" },
	{ PROFILE_OF("minimal") PLACE ", lasting: {disk: 1G, inodes: 1K, idle: 1m, ttl: 1d}}]", "profiles[0].lasting.ttl_most: missing; expected a span" },
	{ PROFILE_OF("minimal") PLACE ", lasting: {disk: 1G, inodes: 1K, idle: 1m, ttl: 1d, ttl_most: 1d}}]", "profiles[0].lasting.workspace: missing; expected copy-on-write" },
	{ PROFILE_OF("minimal") PLACE ", lasting: {disk: 1G, inodes: 1K, idle: 1m, ttl: 1d, ttl_most: 1d, workspace: read-only}}]", "profiles[0].lasting.apply: missing; expected person" },
	{ PROFILE "files: [{at: /a, kind: directory, place: a}]}]", "profiles[0].files[0].place: \"a\" is no place of this kind" },
	{ PROFILE "files: [{at: /a, kind: tmpfs, size: 1M, inodes: 64, mode: 0700, place: git}]}]", "profiles[0].files[0].place: \"git\" is no place of this kind" },
	{ PROFILE "files: [{at: /a, kind: bind, place: git}]}]", "profiles[0].files[0].place: \"git\" is no place of this kind" },
	{ PROFILE "files: [{at: /a, kind: directory, place: git}]}]", "profiles[0].files: /a: there is a place \"git\" already" },
	{ PROFILE "files: [{at: /a, kind: bind, access: copy-on-write, size: 1M, inodes: 64, place: a}]}]", "profiles[0].files[0].place: does not belong to kind bind with access copy-on-write" },
	{ PROFILE "files: [{at: /a, kind: bind, access: writable, place: a}]}]", "profiles[0].files[0].place: \"a\" keeps nothing where the host's files are changed" },
	{ PROFILE "files: [{at: /a, kind: bind, optional: true, place: a}]}]", "profiles[0].files[0].place: \"a\" cannot be where the entry is optional" },
	{ PROFILE "files: [{at: /a, kind: bind, place: workspace}]}]", "profiles[0].files[0].place: \"workspace\" is where a directory of the host is shown" },
	{ PROFILE "files: [{at: /a, kind: bind, place: home}]}]", "profiles[0].files: /a: there is a place \"home\" already; expected another name" },
	{ PROFILE "files: [{at: /a, kind: bind, place: ''}]}]", "profiles[0].files[0].place: \"\" is not the name of a place" },
	{ PROFILE "files: [{at: /a, kind: bind, place: A}]}]", "profiles[0].files[0].place: \"A\" is not the name" },
	{ PROFILE "files: [{at: /a, kind: bind, place: a/b}]}]", "profiles[0].files[0].place: \"a/b\" is not the name" },
	{ PROFILE "files: [{at: /a, kind: bind, place: ..}]}]", "profiles[0].files[0].place: \"..\" is not the name" },
	{ PROFILE "files: [{at: /a, kind: bind, place: -a}]}]", "profiles[0].files[0].place: \"-a\" is not the name" },
	{ PROFILE "files: [{at: /a, kind: bind, place: base}]}]", "profiles[0].files[0].place: \"base\" is not the name" },
	{ PROFILE "files: [{at: /a, kind: bind, place: work-home}]}]", "profiles[0].files[0].place: \"work-home\" is not the name" },
	{ PROFILE "files: [{at: /a, kind: bind, place: a1234567890123456789012345678901}]}]", "is not the name of a place; expected up to 31 of" },
};
/* clang-format on */

Test(lasting, mistakes)
{
	for (size_t i = 0; i < COUNT(mistakes); i++) {
		struct policy_error error = { .text = "" };
		const char *text = mistakes[i].text;

		policy = policy_free(policy);
		policy = policy_new();
		cr_assert_eq(policy_add_builtin(policy, &error), 0, "%s", error.text);
		cr_expect_eq(policy_add(policy, "mine.yaml", text, strlen(text), &error), -1,
			     "accepted: %s", text);
		cr_expect_not_null(strstr(error.text, mistakes[i].expected),
				   "\"%s\" is not in \"%s\"", mistakes[i].expected, error.text);
	}
}

Test(lasting, places_are_counted)
{
	struct policy_error error = { .text = "" };
	struct buffer text = { .bytes = NULL };

	buffer_format(&text, PROFILE "files: [");
	for (int i = 0; i < PLACES_MAX - 1; i++)
		buffer_format(&text, "{at: /p%d, kind: bind, from: /usr, place: p%d}, ", i, i);
	buffer_format(&text, "]}]");
	policy = policy_new();
	cr_assert_eq(policy_add_builtin(policy, &error), 0, "%s", error.text);
	cr_expect_eq(policy_add(policy, "mine.yaml", text.bytes, text.size, &error), -1);
	cr_expect_not_null(strstr(error.text, "too many places; expected at most 12"), "%s",
			   error.text);
	buffer_done(&text);
}
