/* SPDX-License-Identifier: Apache-2.0
 *
 * plan_open() on a blob made by hand: as it is, it opens and reads back; with any one of its rules
 * broken, it does not. tests/fuzz/plan_open.c breaks it in every other way.
 */
#include "common/plan/plan.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdalign.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/workspace_mode.h"
#include "common/limits.h"
#include "plan_blob.h"

static alignas(8) struct blob blob;

static int open_blob(void)
{
	struct plan plan;

	return plan_open(&blob, sizeof(blob), &plan);
}

static uint32_t text_used;

static void make_blob(void)
{
	text_used = blob_make(&blob);
}

TestSuite(plan, .init = make_blob);

Test(plan, a_valid_blob_reads_back)
{
	struct plan plan;

	cr_assert_eq(plan_open(&blob, sizeof(blob), &plan), 0);
	cr_assert_eq(plan_profile_count(&plan), 1);
	cr_assert_eq(plan_profile_find(&plan, "default"), 0);
	cr_assert_eq(plan_profile_find(&plan, "defaul"), -1);
	cr_assert_eq(plan_profile_find(&plan, ""), -1);

	const struct plan_profile *profile = plan_profile(&plan, 0);

	cr_assert_eq(profile, &blob.profile);
	cr_assert_str_eq(plan_string(&plan, profile->hostname), "sandbox");
	cr_assert_str_eq(plan_string(&plan, profile->text), "name: default\n");
	cr_assert_eq(memcmp(plan_bytes(&plan, profile->shell), "/bin/sh\0-c", 11), 0);
	cr_assert_eq(plan_mounts(&plan, profile), blob.mounts);
	cr_assert_eq(plan_rules(&plan, profile), blob.rules);
	cr_assert_eq(plan_languages(&plan, profile), blob.languages);
	cr_assert_eq(plan_filter(&plan, profile), blob.filter);
}

Test(plan, names_of_helpers_are_internal)
{
	struct plan plan;

	cr_assert_eq(plan_open(&blob, sizeof(blob), &plan), 0);
	cr_assert_not(plan_is_internal(&plan, plan_profile(&plan, 0)));
	blob.text[blob.profile.name - offsetof(struct blob, text)] = '_';
	cr_assert(plan_is_internal(&plan, plan_profile(&plan, 0)));
}

Test(plan, empty_lists_are_allowed)
{
	blob.profile.mount_count = blob.profile.rule_count = blob.profile.language_count = 0;
	blob.profile.environment_size = 0;
	blob.profile.mounts = blob.profile.environment = UINT32_MAX; /* nothing looks there */
	cr_assert_eq(open_blob(), 0);
}

/* Give one 32-bit member another value: the blob must not open. Then put the old one back. */
#define REFUSES(member, value)                                                                     \
	do {                                                                                       \
		const uint32_t good = (member);                                                    \
                                                                                                   \
		(member) = (value);                                                                \
		cr_expect_eq(open_blob(), -EBADMSG, #member " = " #value);                         \
		(member) = good;                                                                   \
		cr_assert_eq(open_blob(), 0);                                                      \
	} while (0)

/* What no string, path or list may point to. */
#define REFUSES_OFFSETS(member)                                                                    \
	do {                                                                                       \
		REFUSES(member, 0);                                                                \
		REFUSES(member, sizeof(struct plan_header) - 1);                                   \
		REFUSES(member, sizeof(blob));                                                     \
		REFUSES(member, sizeof(blob) + 1);                                                 \
		REFUSES(member, UINT32_MAX);                                                       \
	} while (0)

#define REFUSES_PATH(member)                                                                       \
	do {                                                                                       \
		REFUSES_OFFSETS(member);                                                           \
		REFUSES(member, blob.profile.description); /* does not start with a slash */       \
		REFUSES(member, sizeof(blob) - 1);         /* empty */                             \
	} while (0)

/* A list must lie inside and end with NUL. */
#define REFUSES_LIST(offset, size)                                                                 \
	do {                                                                                       \
		REFUSES_OFFSETS(offset);                                                           \
		REFUSES(size, (size)-1);                                                           \
		REFUSES(size, sizeof(blob));                                                       \
		REFUSES(size, UINT32_MAX);                                                         \
	} while (0)

/* An array must be aligned, lie inside and have at most `most` records. */
#define REFUSES_ARRAY(offset, count, most)                                                         \
	do {                                                                                       \
		REFUSES_OFFSETS(offset);                                                           \
		REFUSES(offset, (offset) + 1);                                                     \
		REFUSES(offset, (offset) + 4);                                                     \
		REFUSES(offset, sizeof(blob) - 8);                                                 \
		REFUSES(count, (most) + 1);                                                        \
		REFUSES(count, UINT32_MAX);                                                        \
	} while (0)

Test(plan, header_rules)
{
	REFUSES(blob.header.magic, PLAN_MAGIC + 1);
	REFUSES(blob.header.version, 0);
	REFUSES(blob.header.version, PLAN_VERSION + 1);
	REFUSES(blob.header.size, sizeof(blob) - 1);
	REFUSES(blob.header.size, sizeof(blob) + 1);
	REFUSES(blob.header.profile_count, 0);
	REFUSES_ARRAY(blob.header.profiles, blob.header.profile_count, PLAN_PROFILES_MAX);
}

Test(plan, sizes_and_alignment_of_the_whole)
{
	struct plan plan;
	static alignas(8) uint8_t shifted[sizeof(blob) + 8];

	for (size_t size = 0; size < sizeof(blob); size++)
		cr_assert_eq(plan_open(&blob, size, &plan), -EBADMSG, "%zu", size);
	for (size_t size = 0; size < offsetof(struct blob, text) + text_used; size++) {
		blob.header.size = (uint32_t)size; /* as if the blob were meant to be shorter */
		cr_assert_eq(plan_open(&blob, size, &plan), -EBADMSG, "%zu", size);
	}
	make_blob();
	memcpy(shifted + 1, &blob, sizeof(blob));
	cr_assert_eq(plan_open(shifted + 1, sizeof(blob), &plan), -EBADMSG);
	memcpy(shifted, &blob, sizeof(blob));
	cr_assert_eq(plan_open(shifted, sizeof(blob), &plan), 0);
}

Test(plan, the_last_byte_is_nul)
{
	blob.text[BLOB_TEXT_ROOM - 1] = 'x';
	cr_assert_eq(open_blob(), -EBADMSG);
}

Test(plan, a_blob_beyond_the_largest_is_refused)
{
	void *large = mmap(NULL, PLAN_SIZE_MAX + 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct plan plan;

	cr_assert_neq(large, MAP_FAILED);
	blob.header.size = PLAN_SIZE_MAX;
	memcpy(large, &blob, sizeof(blob));
	cr_assert_eq(plan_open(large, PLAN_SIZE_MAX, &plan), 0);
	blob.header.size = PLAN_SIZE_MAX + 8;
	memcpy(large, &blob, sizeof(blob));
	cr_assert_eq(plan_open(large, PLAN_SIZE_MAX + 8, &plan), -EBADMSG);
}

Test(plan, profile_rules)
{
	REFUSES_OFFSETS(blob.profile.name);
	REFUSES_OFFSETS(blob.profile.hostname);
	REFUSES_PATH(blob.profile.cwd);
	REFUSES_OFFSETS(blob.profile.description);
	REFUSES_OFFSETS(blob.profile.text);
	REFUSES_LIST(blob.profile.shell, blob.profile.shell_size);
	REFUSES(blob.profile.runner_size, blob.profile.shell_size + 1);
	REFUSES(blob.profile.runner_size, blob.profile.shell_size - 1);
	REFUSES_LIST(blob.profile.command, blob.profile.command_size);
	REFUSES(blob.profile.user, 1);
	REFUSES(blob.profile.user, PLAN_USER_AGENT + 1);
	REFUSES_LIST(blob.profile.environment, blob.profile.environment_size);
	REFUSES_ARRAY(blob.profile.mounts, blob.profile.mount_count, PLAN_MOUNTS_MAX);
	REFUSES_ARRAY(blob.profile.rules, blob.profile.rule_count, PLAN_RULES_MAX);
	REFUSES_ARRAY(blob.profile.languages, blob.profile.language_count, PLAN_LANGUAGES_MAX);
	REFUSES_ARRAY(blob.profile.filter, blob.profile.filter_count, BPF_MAXINSNS);
}

Test(plan, an_empty_filter_is_refused)
{
	REFUSES(blob.profile.filter_count, 0);
}

Test(plan, mount_rules)
{
	for (uint32_t i = 0; i < BLOB_MOUNTS; i++) {
		REFUSES(blob.mounts[i].kind, 0);
		REFUSES(blob.mounts[i].kind, PLAN_MOUNT_KIND_COUNT);
		REFUSES(blob.mounts[i].kind, UINT32_MAX);
		REFUSES(blob.mounts[i].phase, 2);
		REFUSES_PATH(blob.mounts[i].target);
	}
	/* That of an image is the first. */
	cr_assert_eq(PLAN_MOUNT_KIND_COUNT, BLOB_MOUNTS + 2, "a record of each kind");
}

/* Make the first record an image of these layers. */
static void make_image(const char *layers, uint32_t size)
{
	static char *const room = blob.text + sizeof(blob.text) / 2;

	memcpy(room, layers, size);
	blob.profile.layers = (uint32_t)((const char *)room - (const char *)&blob);
	blob.profile.layers_size = size;
	blob.mounts[0].kind = PLAN_IMAGE;
	blob.mounts[0].attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
}

Test(plan, an_image_is_the_first_record_and_has_layers)
{
	make_image("/a\0/b", sizeof("/a\0/b"));
	cr_assert_eq(open_blob(), 0);
	REFUSES_LIST(blob.profile.layers, blob.profile.layers_size);
	REFUSES(blob.profile.layers_size, 0);
	REFUSES(blob.profile.image, sizeof(blob));
	REFUSES(blob.mounts[0].kind, PLAN_DIRECTORY);
	REFUSES(blob.mounts[1].kind, PLAN_IMAGE);
	blob.mounts[0].attributes = MOUNT_ATTR_NOSUID;
	cr_assert_eq(open_blob(), -EBADMSG, "devices");
	make_image("/a\0b", sizeof("/a\0b"));
	cr_assert_eq(open_blob(), -EBADMSG, "a relative path");
}

Test(plan, an_image_has_a_most_of_layers)
{
	char layers[2 * (PLAN_LAYERS_MAX + 1) + PLAN_LAYERS_MAX + 1];

	for (size_t i = 0; i < sizeof(layers); i++)
		layers[i] = i % 3 == 0 ? '/' : i % 3 == 1 ? 'a' : '\0';
	make_image(layers, 3 * PLAN_LAYERS_MAX);
	cr_assert_eq(open_blob(), 0);
	make_image(layers, 3 * (PLAN_LAYERS_MAX + 1));
	cr_assert_eq(open_blob(), -EBADMSG);
}

Test(plan, mount_sources)
{
	for (uint32_t kind = PLAN_SYMLINK; kind <= PLAN_DEVPTS; kind++)
		REFUSES_OFFSETS(blob.mounts[kind - 1].source);
	for (uint32_t kind = PLAN_COPY; kind <= PLAN_DEVICE; kind++)
		REFUSES_PATH(blob.mounts[kind - 1].source);
	REFUSES_PATH(blob.mounts[PLAN_OVERLAY - 1].source);
}

static void expect_attributes(uint32_t kind, uint64_t attributes, int error)
{
	blob.mounts[kind - 1].attributes = attributes;
	cr_expect_eq(open_blob(), error, "kind %u with %#lx", kind, (unsigned long)attributes);
}

Test(plan, what_is_of_the_host_brings_no_set_id_bits_and_no_devices)
{
	const uint64_t least = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t kind = i == 0 ? PLAN_BIND : PLAN_OVERLAY;

		expect_attributes(kind, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV, -EBADMSG);
		expect_attributes(kind, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, -EBADMSG);
		expect_attributes(kind, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC | least, 0);
	}
}

Test(plan, only_what_is_pinned_can_be_written)
{
	struct plan_mount *bind = &blob.mounts[PLAN_BIND - 1];

	bind->attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	cr_expect_eq(open_blob(), -EBADMSG);
	bind->flags = PLAN_PINNED;
	cr_expect_eq(open_blob(), 0);
}

Test(plan, only_what_shows_a_file_of_the_host_is_pinned)
{
	for (uint32_t kind = PLAN_DIRECTORY; kind < PLAN_MOUNT_KIND_COUNT; kind++) {
		const bool may = kind == PLAN_COPY || kind == PLAN_BIND || kind == PLAN_OVERLAY;

		blob.mounts[kind - 1].flags = PLAN_PINNED | PLAN_OPTIONAL;
		cr_expect_eq(open_blob(), may ? 0 : -EBADMSG, "kind %u", kind);
		blob.mounts[kind - 1].flags = 0;
	}
}

Test(plan, a_helper_is_shown_nothing_of_the_operators)
{
	blob.mounts[PLAN_BIND - 1].flags = PLAN_PINNED;
	cr_assert_eq(open_blob(), 0);
	blob.text[blob.profile.name - offsetof(struct blob, text)] = '_';
	cr_expect_eq(open_blob(), -EBADMSG);
}

Test(plan, an_overlay_is_each_sandboxs_own)
{
	blob.mounts[PLAN_OVERLAY - 1].phase = PLAN_PHASE_BASE;
	cr_expect_eq(open_blob(), -EBADMSG);
}

/* A place for each record that may have one, and what the profile then needs. */
static void make_places(void)
{
	const uint32_t at = offsetof(struct blob, text) + text_used;

	memcpy(blob.text + text_used, "home\0cache", sizeof("home\0cache"));
	text_used += sizeof("home\0cache");
	blob.mounts[PLAN_TMPFS - 1].place = at;
	blob.mounts[PLAN_BIND - 1].place = at + sizeof("home");
	blob.profile.disk_bytes = blob.profile.disk_inodes = 1;
	blob.profile.idle_s = blob.profile.ttl_default_s = blob.profile.ttl_max_s = 1;
	blob.profile.workspace_mode = WORKSPACE_COPY;
}

Test(plan, places)
{
	struct plan plan;

	cr_assert_eq(plan_open(&blob, sizeof(blob), &plan), 0);
	cr_expect_not(plan_lasts(&plan, &blob.profile));
	make_places();
	cr_assert_eq(plan_open(&blob, sizeof(blob), &plan), 0);
	cr_expect(plan_lasts(&plan, &blob.profile));
	for (uint32_t kind = PLAN_DIRECTORY; kind < PLAN_MOUNT_KIND_COUNT; kind++) {
		if (kind == PLAN_TMPFS || kind == PLAN_BIND || kind == PLAN_DIRECTORY ||
		    kind == PLAN_OVERLAY)
			continue;
		blob.mounts[kind - 1].place = blob.profile.name;
		cr_expect_eq(open_blob(), -EBADMSG, "kind %u", kind);
		blob.mounts[kind - 1].place = 0;
	}
	REFUSES(blob.mounts[PLAN_TMPFS - 1].place, sizeof(blob));
	REFUSES(blob.mounts[PLAN_TMPFS - 1].place, UINT32_MAX);
	REFUSES(blob.mounts[PLAN_TMPFS - 1].place, blob.profile.cwd); /* no name */
	REFUSES(blob.mounts[PLAN_TMPFS - 1].place, blob.mounts[PLAN_BIND - 1].place);
	REFUSES(blob.mounts[PLAN_BIND - 1].flags, PLAN_OPTIONAL);
	blob.mounts[PLAN_BIND - 1].flags = PLAN_PINNED;
	cr_expect_eq(open_blob(), 0);
	blob.mounts[PLAN_BIND - 1].attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	cr_expect_eq(open_blob(), -EBADMSG, "what is written there is the host's");
}

/* It is a directory, and no reason to last by itself. */
Test(plan, the_place_of_gits_data)
{
	struct plan plan;

	blob.mounts[PLAN_DIRECTORY - 1].place = blob.profile.name;
	cr_assert_eq(plan_open(&blob, sizeof(blob), &plan), 0);
	cr_expect_not(plan_lasts(&plan, &blob.profile));
}

Test(plan, the_workspace_is_no_directory_of_the_profiles)
{
	const uint32_t at = offsetof(struct blob, text) + text_used;

	make_places();
	memcpy(blob.text + text_used, PLAN_PLACE_WORKSPACE, sizeof(PLAN_PLACE_WORKSPACE));
	REFUSES(blob.mounts[PLAN_BIND - 1].place, at + (uint32_t)sizeof("home\0cache"));
	blob.mounts[PLAN_TMPFS - 1].place = at + (uint32_t)sizeof("home\0cache");
	cr_expect_eq(open_blob(), 0);
}

Test(plan, a_profile_without_its_hosts_is_in_the_plan)
{
	REFUSES(blob.profile.no_hosts, 1); /* there is one profile */
	REFUSES(blob.profile.no_hosts, UINT32_MAX);
}

Test(plan, hosts_are_approved_where_there_are_hosts)
{
	REFUSES(blob.profile.host_approval, PLAN_HOST_APPROVAL_PERSON);
	blob.profile.network = PLAN_NETWORK_HOSTS;
	cr_assert_eq(open_blob(), 0);
	blob.profile.host_approval = PLAN_HOST_APPROVAL_ASK;
	cr_assert_eq(open_blob(), 0);
	REFUSES(blob.profile.host_approval, PLAN_HOST_APPROVAL_COUNT);
}

Test(plan, a_profile_with_places_says_all_that_they_need)
{
	make_places();
	REFUSES(blob.profile.idle_s, 0);
	REFUSES(blob.profile.ttl_default_s, 0);
	REFUSES(blob.profile.ttl_default_s, 2);
	REFUSES(blob.profile.workspace_mode, WORKSPACE_NONE);
	REFUSES(blob.profile.workspace_mode, WORKSPACE_MODE_COUNT);
	REFUSES(blob.profile.apply, PLAN_APPLY_COUNT);
	REFUSES(blob.profile.bridge, PLAN_BRIDGE_COUNT);
	blob.profile.disk_bytes = 0;
	cr_expect_eq(open_blob(), -EBADMSG);
	blob.profile.disk_bytes = 1;
	blob.profile.disk_inodes = 0;
	cr_expect_eq(open_blob(), -EBADMSG);
	blob.profile.disk_inodes = 1;
	cr_assert_eq(open_blob(), 0);
	blob.text[blob.profile.name - offsetof(struct blob, text)] = '_';
	cr_expect_eq(open_blob(), -EBADMSG, "a helper keeps nothing");
}

Test(plan, what_lasts_is_bounded)
{
	REFUSES(blob.header.sandboxes_max, SANDBOXES_MAX + 1);
	blob.profile.held = blob.profile.shell;
	blob.profile.held_size = blob.profile.shell_size;
	cr_assert_eq(open_blob(), 0);
	REFUSES_LIST(blob.profile.held, blob.profile.held_size);
	REFUSES(blob.profile.held_size, IPC_LIST_MAX + 1);
}

Test(plan, names_of_places)
{
	static const char *const good[] = { "a", "home", "c-1", "workspace", "work", "basement" };
	static const char *const bad[] = { "",
					   "A",
					   "a/b",
					   ".",
					   "..",
					   "-a",
					   "1",
					   "a b",
					   "base",
					   "work-a",
					   "work-",
					   "a_b",
					   "abcdefghijklmnopqrstuvwxyzabcdef" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_expect(plan_is_place(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_not(plan_is_place(bad[i]), "%s", bad[i]);
}

Test(plan, modes_that_a_profile_offers)
{
	static const bool may[WORKSPACE_MODE_COUNT][WORKSPACE_MODE_COUNT + 1] = {
		[WORKSPACE_NONE] = { [WORKSPACE_NONE] = true },
		[WORKSPACE_READ] = { [WORKSPACE_NONE] = true, [WORKSPACE_READ] = true },
		[WORKSPACE_COPY] = { [WORKSPACE_NONE] = true,
				     [WORKSPACE_READ] = true,
				     [WORKSPACE_COPY] = true },
		[WORKSPACE_WRITE] = { [WORKSPACE_NONE] = true,
				      [WORKSPACE_READ] = true,
				      [WORKSPACE_COPY] = true,
				      [WORKSPACE_WRITE] = true },
	};

	for (uint32_t of = 0; of < WORKSPACE_MODE_COUNT; of++) {
		blob.profile.workspace_mode = of;
		for (uint32_t mode = 0; mode <= WORKSPACE_MODE_COUNT; mode++)
			cr_expect_eq(plan_may_work(&blob.profile, mode), may[of][mode], "%u of %u",
				     mode, of);
	}
}

Test(plan, mount_options_are_pairs)
{
	struct plan_mount *mount = &blob.mounts[PLAN_TMPFS - 1];

	REFUSES_LIST(mount->options, mount->options_size);
	REFUSES(mount->options_size, sizeof("mode")); /* a key without its value */
	mount->options_size = 0;
	cr_assert_eq(open_blob(), 0);
}

Test(plan, rule_and_language_rules)
{
	struct plan_language *language = &blob.languages[0];

	REFUSES_PATH(blob.rules[0].path);
	REFUSES_OFFSETS(language->name);
	REFUSES_PATH(language->program);
	REFUSES_OFFSETS(language->host_program);
	REFUSES_PATH(language->file);
	REFUSES_LIST(language->argv, language->argv_size);
	REFUSES(language->argv_size, 0);
	REFUSES_LIST(language->aliases, language->aliases_size);
}

Test(plan, opening_a_sealed_file)
{
	struct plan plan;
	int fd = fd_sealed_from_bytes("plan", &blob, sizeof(blob));

	cr_assert_eq(plan_open_fd(fd, &plan), 0);
	cr_assert_eq(plan_profile_find(&plan, "default"), 0);
	fd_close(&fd);
	cr_assert_str_eq(plan_string(&plan, plan_profile(&plan, 0)->name), "default",
			 "the mapping outlives the descriptor");

	fd = fd_sealed_from_bytes("empty", "", 0);
	cr_assert_eq(plan_open_fd(fd, &plan), -EBADMSG);
	fd_close(&fd);
	fd = fd_sealed_from_bytes("short", &blob, sizeof(blob) - 8);
	cr_assert_eq(plan_open_fd(fd, &plan), -EBADMSG);
	fd_close(&fd);
	cr_assert_eq(plan_open_fd(-1, &plan), -EBADF);
}
