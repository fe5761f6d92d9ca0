/* SPDX-License-Identifier: Apache-2.0
 *
 * The compiled plan: its bytes, what the profiles became in it, and what plan_open() makes of it
 * when something is wrong with it.
 */
#include "common/kernel.h"
#include "policy/write/show.h"
#include "support.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct builtin builtin;

static void open_plan(void)
{
	builtin = builtin_open();
}

static void close_plan(void)
{
	builtin_close(&builtin);
}

TestSuite(plan, .init = open_plan, .fini = close_plan);

static const struct plan_profile *find(const char *name)
{
	const int index = plan_profile_find(&builtin.plan, name);

	cr_assert_geq(index, 0, "%s", name);
	return plan_profile(&builtin.plan, (uint32_t)index);
}

static const struct plan_mount *find_mount(const struct plan_profile *profile, const char *target,
					   uint32_t kind)
{
	const struct plan_mount *mounts = plan_mounts(&builtin.plan, profile);

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (mounts[i].kind == kind &&
		    strcmp(plan_string(&builtin.plan, mounts[i].target), target) == 0)
			return &mounts[i];
	}
	return NULL;
}

Test(plan, is_the_same_every_time)
{
	struct builtin again = builtin_open();

	cr_assert_eq(again.blob.size, builtin.blob.size);
	cr_expect_eq(memcmp(again.blob.bytes, builtin.blob.bytes, again.blob.size), 0);
	builtin_close(&again);
}

Test(plan, numbers_of_default)
{
	const struct plan_profile *profile = find("default");

	cr_expect_eq(profile->memory_bytes, 2ULL << 30);
	cr_expect_eq(profile->file_bytes, 1ULL << 30);
	cr_expect_eq(profile->output_bytes, 0);
	cr_expect_eq(profile->log_bytes, 8U << 20);
	cr_expect_eq(profile->pids, 256);
	cr_expect_eq(profile->open_files, 768);
	cr_expect_eq(profile->cpu_percent, 200);
	cr_expect_eq(profile->cpu_weight, 100);
	cr_expect_eq(profile->cpu_seconds, 0);
	cr_expect_eq(profile->wall_default_ms, 60000);
	cr_expect_eq(profile->wall_max_ms, 3600000);
	cr_expect_eq(profile->stack_bytes, 8U << 20);
	cr_expect_eq(profile->landlock_abi_min, 6);
	cr_expect_eq(profile->limits_fallback, 0);
	cr_expect_eq(profile->landlock_fs, 0xffff);
	cr_expect_eq(profile->landlock_net, 0);
	cr_expect_eq(profile->landlock_scopes, 3);
	cr_expect_eq(find("strict")->landlock_net, 3);
	cr_expect_eq(find("strict")->memory_bytes, 512ULL << 20);
	cr_expect_eq(find("strict")->log_bytes, 2U << 20);
	cr_expect_eq(find("strict")->stack_bytes, 8U << 20, "inherited");
}

Test(plan, holds_what_is_shown_of_each_profile)
{
	for (uint32_t i = 0; i < plan_profile_count(&builtin.plan); i++) {
		const struct plan_profile *profile = plan_profile(&builtin.plan, i);
		const char *name = plan_string(&builtin.plan, profile->name);
		struct buffer text = { .bytes = NULL };

		policy_show(policy_find(builtin.policy, name), &text);
		cr_expect_str_eq(plan_string(&builtin.plan, profile->text), text.bytes, "%s", name);
		cr_expect_eq(plan_is_internal(&builtin.plan, profile), strcmp(name, "_helper") == 0,
			     "%s", name);
		buffer_done(&text);
	}
	cr_expect_not_null(strstr(plan_string(&builtin.plan, find("default")->text),
				  "  log           8M (default.yaml:"));
	cr_expect_not_null(strstr(plan_string(&builtin.plan, find("strict")->text),
				  "  log           2M (strict.yaml:"));
}

/* The value of a file system's option, or NULL. */
static const char *option_of(const struct plan_mount *mount, const char *key)
{
	const char *at = plan_string(&builtin.plan, mount->options);
	const char *end = at + mount->options_size;

	while (at < end) {
		const char *value = at + strlen(at) + 1;

		if (strcmp(at, key) == 0)
			return value;
		at = value + strlen(value) + 1;
	}
	return NULL;
}

Test(plan, mounts_of_default)
{
	const struct plan_profile *profile = find("default");
	const struct plan_mount *null = find_mount(profile, "/dev/null", PLAN_DEVICE);
	const struct plan_mount *usr = find_mount(profile, "/usr", PLAN_BIND);
	const struct plan_mount *tmp = find_mount(profile, "/tmp", PLAN_TMPFS);
	const struct plan_mount *shm = find_mount(profile, "/dev/shm", PLAN_TMPFS);
	const struct plan_mount *proc = find_mount(profile, "/proc", PLAN_PROC);
	const struct plan_mount *pts = find_mount(profile, "/dev/pts", PLAN_DEVPTS);
	const struct plan_mount *keys = find_mount(profile, "/proc/keys", PLAN_MASK);

	cr_assert(null != NULL && usr != NULL && tmp != NULL && shm != NULL);
	cr_assert(proc != NULL && pts != NULL && keys != NULL);
	cr_expect_eq(null->device, 0x103);
	cr_expect_str_eq(plan_string(&builtin.plan, null->source), "/dev/null");
	cr_expect_eq(usr->flags, 0);
	cr_expect_eq(usr->attributes, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	cr_expect_eq(tmp->attributes, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	cr_expect_eq(shm->attributes, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	cr_expect_str_eq(plan_string(&builtin.plan, tmp->source), "tmpfs");
	cr_expect_str_eq(option_of(tmp, "size"), "536870912");
	cr_expect_str_eq(option_of(tmp, "nr_inodes"), "65536");
	cr_expect_str_eq(option_of(tmp, "mode"), "1777");
	cr_expect_str_eq(option_of(proc, "hidepid"), "invisible");
	cr_expect_str_eq(option_of(pts, "ptmxmode"), "0666");
	cr_expect_str_eq(option_of(pts, "max"), "64");
	cr_expect_eq(keys->flags, PLAN_OPTIONAL);
	tmp = find_mount(find("strict"), "/tmp", PLAN_TMPFS);
	cr_expect_str_eq(option_of(tmp, "size"), "67108864");
}

Test(plan, nothing_that_is_mounted_honours_set_id_bits_or_foreign_devices)
{
	for (uint32_t i = 0; i < plan_profile_count(&builtin.plan); i++) {
		const struct plan_profile *profile = plan_profile(&builtin.plan, i);
		const struct plan_mount *mounts = plan_mounts(&builtin.plan, profile);

		for (uint32_t j = 0; j < profile->mount_count; j++) {
			const uint32_t kind = mounts[j].kind;
			const char *target = plan_string(&builtin.plan, mounts[j].target);

			if (kind < PLAN_BIND)
				continue;
			cr_expect_neq(mounts[j].attributes & MOUNT_ATTR_NOSUID, 0, "%s", target);
			if (kind == PLAN_BIND || kind == PLAN_TMPFS || kind == PLAN_PROC)
				cr_expect_neq(mounts[j].attributes & MOUNT_ATTR_NODEV, 0, "%s",
					      target);
			if (kind == PLAN_BIND)
				cr_expect_neq(mounts[j].attributes & MOUNT_ATTR_RDONLY, 0, "%s",
					      target);
		}
	}
}

/* The init makes no parents, and its base is read-only when a sandbox is made. */
Test(plan, every_parent_and_mount_point_comes_before_its_use)
{
	for (uint32_t i = 0; i < plan_profile_count(&builtin.plan); i++) {
		const struct plan_profile *profile = plan_profile(&builtin.plan, i);
		const struct plan_mount *mounts = plan_mounts(&builtin.plan, profile);

		for (uint32_t j = 0; j < profile->mount_count; j++) {
			char path[256];
			char *slash;
			const struct plan_mount *parent;

			(void)snprintf(path, sizeof(path), "%s",
				       plan_string(&builtin.plan, mounts[j].target));
			if (mounts[j].phase == PLAN_PHASE_SANDBOX && mounts[j].kind != PLAN_MASK) {
				parent = find_mount(profile, path, PLAN_DIRECTORY);
				cr_expect(parent != NULL && parent < &mounts[j], "%s", path);
			}
			slash = strrchr(path, '/');
			if (slash == path || mounts[j].kind == PLAN_MASK)
				continue;
			*slash = '\0';
			parent = find_mount(profile, path, PLAN_DIRECTORY);
			cr_expect(parent != NULL && parent < &mounts[j], "%s", path);
		}
	}
}

Test(plan, etc_is_never_the_hosts)
{
	static const char *const never[] = {
		"/",    "/etc", "/dev",  "/home",           "/root",       "/run",        "/var",
		"/tmp", "/sys", "/proc", "/etc/machine-id", "/etc/passwd", "/etc/shadow", "/etc/ssh"
	};

	for (uint32_t i = 0; i < plan_profile_count(&builtin.plan); i++) {
		for (size_t j = 0; j < COUNT(never); j++)
			cr_expect_null(
				find_mount(plan_profile(&builtin.plan, i), never[j], PLAN_BIND),
				"%s", never[j]);
	}
}

static uint64_t rights_of(const struct plan_profile *profile, const char *path)
{
	const struct plan_rule *rules = plan_rules(&builtin.plan, profile);

	for (uint32_t i = 0; i < profile->rule_count; i++) {
		if (strcmp(plan_string(&builtin.plan, rules[i].path), path) == 0)
			return rules[i].rights;
	}
	return 0;
}

Test(plan, landlock_rights)
{
	const uint64_t write = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;
	const uint64_t read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	const uint64_t device = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;
	const struct plan_profile *profile = find("default");

	cr_expect_eq(rights_of(profile, "/"), LANDLOCK_ACCESS_FS_READ_DIR);
	cr_expect_eq(rights_of(profile, "/usr"), read | LANDLOCK_ACCESS_FS_EXECUTE);
	cr_expect_eq(rights_of(profile, "/etc"), read);
	cr_expect_eq(rights_of(profile, "/proc"), read | write);
	cr_expect_eq(rights_of(profile, "/dev"), read | write | LANDLOCK_ACCESS_FS_IOCTL_DEV);
	cr_expect_eq(rights_of(profile, "/workspace"),
		     0xffff & ~device & ~LANDLOCK_ACCESS_FS_IOCTL_DEV);
	for (uint32_t i = 0; i < plan_profile_count(&builtin.plan); i++) {
		const struct plan_profile *any = plan_profile(&builtin.plan, i);

		for (uint32_t j = 0; j < any->rule_count; j++)
			cr_expect_eq(plan_rules(&builtin.plan, any)[j].rights & device, 0);
	}
}

Test(plan, the_mark_for_the_code_became_its_path)
{
	const struct plan_profile *profile = find("default");
	const struct plan_language *languages = plan_languages(&builtin.plan, profile);

	cr_assert_gt(profile->language_count, 10);
	for (uint32_t i = 0; i < profile->language_count; i++) {
		const char *file = plan_string(&builtin.plan, languages[i].file);
		const char *argument = plan_string(&builtin.plan, languages[i].argv);
		const char *end = argument + languages[i].argv_size;
		uint32_t found = 0;

		for (; argument < end; argument += strlen(argument) + 1) {
			found += strcmp(argument, file) == 0;
			cr_expect_null(strstr(argument, "{file}"), "%s", argument);
		}
		cr_expect_eq(found, 1, "%s", plan_string(&builtin.plan, languages[i].name));
	}
}

/* A copy of the blob in a block of exactly its size, so that a sanitizer sees a read beyond it. */
static uint8_t *copy_blob(size_t size)
{
	uint8_t *copy = malloc(size);

	cr_assert_not_null(copy);
	memcpy(copy, builtin.blob.bytes, size);
	return copy;
}

/* Each size while the tables begin, and of the long rest one in 13. */
Test(plan, truncated_anywhere_is_refused)
{
	for (size_t size = 1; size < builtin.blob.size; size += size < 8192 ? 1 : 13) {
		uint8_t *copy = copy_blob(size);
		struct plan plan;

		cr_expect_eq(plan_open(copy, size, &plan), -EBADMSG, "%zu", size);
		/* The same with a header that agrees. */
		if (size >= sizeof(struct plan_header)) {
			((struct plan_header *)(void *)copy)->size = (uint32_t)size;
			(void)plan_open(copy, size, &plan); /* must not read beyond it */
		}
		free(copy);
	}
}

static int open_with(size_t offset, uint32_t value)
{
	uint8_t *copy = copy_blob(builtin.blob.size);
	struct plan plan;
	int result;

	memcpy(copy + offset, &value, sizeof(value));
	result = plan_open(copy, builtin.blob.size, &plan);
	free(copy);
	return result;
}

/* Offsets that lead outside must be refused wherever they stand. */
static void expect_refused(size_t base, size_t field, const char *name)
{
	const uint32_t size = (uint32_t)builtin.blob.size;
	const uint32_t values[] = { size, size + 1, 0xffffffffU, 0x80000000U };

	for (size_t i = 0; i < COUNT(values); i++)
		cr_expect_eq(open_with(base + field, values[i]), -EBADMSG, "%s = %#x", name,
			     values[i]);
}

#define FIELD(type, field)                                                                         \
	{                                                                                          \
#type "." #field, offsetof(struct type, field)                                     \
	}

struct field {
	const char *name;
	size_t offset;
};

static void expect_all_refused(size_t base, const struct field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++)
		expect_refused(base, fields[i].offset, fields[i].name);
}

Test(plan, an_offset_that_leads_outside_is_refused)
{
	static const struct field in_header[] = {
		FIELD(plan_header, magic),        FIELD(plan_header, version),
		FIELD(plan_header, profiles),     FIELD(plan_header, profile_count),
		FIELD(plan_header, file),         FIELD(plan_header, default_profile),
		FIELD(plan_header, run_as),       FIELD(plan_header, workspaces_size),
		FIELD(plan_header, protect_size), FIELD(plan_header, unprotect_size)
	};
	static const struct field in_profile[] = {
		FIELD(plan_profile, name),
		FIELD(plan_profile, hostname),
		FIELD(plan_profile, cwd),
		FIELD(plan_profile, description),
		FIELD(plan_profile, text),
		FIELD(plan_profile, shell),
		FIELD(plan_profile, shell_size),
		FIELD(plan_profile, image),
		FIELD(plan_profile, layers_size),
		FIELD(plan_profile, command_size),
		FIELD(plan_profile, user),
		FIELD(plan_profile, environment),
		FIELD(plan_profile, environment_size),
		FIELD(plan_profile, mounts),
		FIELD(plan_profile, mount_count),
		FIELD(plan_profile, rules),
		FIELD(plan_profile, rule_count),
		FIELD(plan_profile, languages),
		FIELD(plan_profile, language_count),
		FIELD(plan_profile, filter),
		FIELD(plan_profile, filter_count),
	};
	static const struct field in_mount[] = { FIELD(plan_mount, kind), FIELD(plan_mount, phase),
						 FIELD(plan_mount, source),
						 FIELD(plan_mount, target),
						 FIELD(plan_mount, options_size) };
	static const struct field in_rule[] = { FIELD(plan_rule, path) };
	static const struct field in_language[] = {
		FIELD(plan_language, name),         FIELD(plan_language, program),
		FIELD(plan_language, file),         FIELD(plan_language, aliases),
		FIELD(plan_language, aliases_size), FIELD(plan_language, argv),
		FIELD(plan_language, argv_size),    FIELD(plan_language, host_program),
	};
	const struct plan_profile *profile = find("default");
	const struct plan_mount *tmp = find_mount(profile, "/tmp", PLAN_TMPFS);
	const size_t base = (size_t)((const char *)profile - builtin.blob.bytes);

	expect_refused((size_t)((const char *)tmp - builtin.blob.bytes),
		       offsetof(struct plan_mount, options), "options of a tmpfs");
	expect_all_refused(0, in_header, COUNT(in_header));
	expect_all_refused(base, in_profile, COUNT(in_profile));
	expect_all_refused(profile->mounts, in_mount, COUNT(in_mount));
	expect_all_refused(profile->rules, in_rule, COUNT(in_rule));
	expect_all_refused(profile->languages, in_language, COUNT(in_language));
}

Test(plan, an_empty_filter_is_refused)
{
	const struct plan_profile *profile = find("strict");
	const size_t base = (size_t)((const char *)profile - builtin.blob.bytes);

	cr_expect_eq(open_with(base + offsetof(struct plan_profile, filter_count), 0), -EBADMSG);
}
