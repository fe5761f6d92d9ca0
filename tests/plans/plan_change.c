/* SPDX-License-Identifier: Apache-2.0
 *
 * plan-change IN OUT [CHANGE]...: a compiled plan with more in it, as if an operator's file had
 * said so. A change is words with a ',' between:
 *   KIND,PROFILE,FROM,AT[,WORD]...  KIND: bind, writable, overlay, copy; WORD: optional, noexec,
 *                                   unpinned, size=BYTES, inodes=NUMBER
 *   workspace,PATH or protect,PATH  one more in the list of all profiles
 * It prints the index of the profile and, in that, of the record for each change of the first kind.
 * What it writes need not be a valid plan: that is for its readers to see.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/plan/plan.h"

#define WORDS_MAX 12

static alignas(8) uint8_t blob[PLAN_SIZE_MAX];
static uint32_t used;
static struct plan plan = { .bytes = blob };

static void fail(const char *what)
{
	(void)fprintf(stderr, "plan-change: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Append bytes, aligned for an array; returns their offset. */
static uint32_t put(const void *bytes, size_t size)
{
	const uint32_t at = used;

	if (used + size + 8 > sizeof(blob))
		fail("too large");
	memcpy(blob + at, bytes, size);
	used = (uint32_t)(at + size + 7) & ~7U;
	return at;
}

static uint32_t put_text(const char *text)
{
	return put(text, strlen(text) + 1);
}

/* An array again at the end, with one more element. */
static uint32_t grow(uint32_t *offset, uint32_t *count, const void *element, size_t size)
{
	const uint32_t at = put(blob + *offset, *count * size);

	used = (uint32_t)(at + *count * size);
	(void)put(element, size);
	*offset = at;
	return ++*count;
}

static struct plan_header *header(void)
{
	return (struct plan_header *)(void *)blob;
}

static struct plan_profile *find_profile(const char *name)
{
	const int index = plan_profile_find(&plan, name);

	if (index < 0)
		fail(name);
	return (struct plan_profile *)(void *)(blob + header()->profiles) + index;
}

/* What workloads may do at a place of the profile's own. */
static uint64_t rights_at(const struct plan_profile *profile, const char *path)
{
	const struct plan_rule *rules = plan_rules(&plan, profile);

	for (uint32_t i = 0; i < profile->rule_count; i++) {
		if (strcmp(plan_string(&plan, rules[i].path), path) == 0)
			return rules[i].rights;
	}
	fail(path);
	return 0;
}

static bool has_word(char *const words[], const char *word)
{
	for (; *words; words++) {
		if (strcmp(*words, word) == 0)
			return true;
	}
	return false;
}

static const char *value_of(char *const words[], const char *name, const char *otherwise)
{
	for (; *words; words++) {
		if (strncmp(*words, name, strlen(name)) == 0)
			return *words + strlen(name);
	}
	return otherwise;
}

static void fill_options(struct plan_mount *mount, char *const words[])
{
	char options[256];
	const int size = snprintf(options, sizeof(options), "size%c%s%cnr_inodes%c%s%cmode%c0755",
				  0, value_of(words, "size=", "1048576"), 0, 0,
				  value_of(words, "inodes=", "1024"), 0, 0);

	mount->options = put(options, (size_t)size + 1);
	mount->options_size = (uint32_t)size + 1;
}

static void add_rule(struct plan_profile *profile, const char *path, const char *like)
{
	const struct plan_rule rule = { .path = put_text(path),
					.rights = rights_at(profile, like) };

	(void)grow(&profile->rules, &profile->rule_count, &rule, sizeof(rule));
}

static void add_mount(char *const words[], uint32_t line)
{
	struct plan_profile *profile = find_profile(words[1]);
	const bool is_overlay = strcmp(words[0], "overlay") == 0;
	const bool is_writable = is_overlay || strcmp(words[0], "writable") == 0;
	struct plan_mount mount = {
		.kind = is_overlay                      ? PLAN_OVERLAY
			: strcmp(words[0], "copy") == 0 ? PLAN_COPY
							: PLAN_BIND,
		.phase = is_overlay ? PLAN_PHASE_SANDBOX : PLAN_PHASE_BASE,
		.flags = (has_word(words, "unpinned") ? 0U : PLAN_PINNED) |
			 (has_word(words, "optional") ? PLAN_OPTIONAL : 0U),
		.mode = 0444,
		.source = put_text(words[2]),
		.target = put_text(words[3]),
		.attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
		.origin = { put_text("test.yaml"), line },
	};
	const struct plan_mount place = { .kind = PLAN_DIRECTORY,
					  .mode = 0755,
					  .target = mount.target };

	mount.attributes |= has_word(words, "noexec") ? MOUNT_ATTR_NOEXEC : 0;
	mount.attributes |= is_writable ? 0 : MOUNT_ATTR_RDONLY;
	if (is_overlay) {
		fill_options(&mount, words);
		(void)grow(&profile->mounts, &profile->mount_count, &place, sizeof(place));
	}
	(void)grow(&profile->mounts, &profile->mount_count, &mount, sizeof(mount));
	add_rule(profile, words[3], is_writable ? "/workspace" : "/usr");
	(void)printf("%d %u\n", plan_profile_find(&plan, words[1]), profile->mount_count - 1);
}

static void add_path(uint32_t *offset, uint32_t *size, const char *path)
{
	const uint32_t at = put(blob + *offset, *size);

	used = at + *size;
	(void)put_text(path);
	*offset = at;
	*size += (uint32_t)strlen(path) + 1;
}

static void change(char *text, uint32_t line)
{
	char *words[WORDS_MAX] = { NULL };
	uint32_t count = 0;

	for (char *word = strtok(text, ","); word && count < WORDS_MAX - 1;
	     word = strtok(NULL, ","))
		words[count++] = word;
	if (count == 2 && strcmp(words[0], "workspace") == 0)
		add_path(&header()->workspaces, &header()->workspaces_size, words[1]);
	else if (count == 2 && strcmp(words[0], "protect") == 0)
		add_path(&header()->protect, &header()->protect_size, words[1]);
	else if (count >= 4)
		add_mount(words, line);
	else
		fail(text);
}

static void read_plan(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t size = fd < 0 ? -1 : read(fd, blob, sizeof(blob));

	if (size <= 0)
		fail(path);
	(void)close(fd); /* only read */
	plan.size = (uint32_t)size;
	used = (uint32_t)(size + 7) & ~7U;
}

int main(int argc, char *argv[])
{
	int fd;

	if (argc < 3)
		return 64;
	read_plan(argv[1]);
	for (int i = 3; i < argc; i++)
		change(argv[i], (uint32_t)i - 2);
	header()->size = used + 8; /* its last byte is NUL */
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || fd_write_all(fd, blob, used + 8) != 0 || close(fd) != 0)
		fail(argv[2]);
	return 0;
}
