/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/kept_binds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/plan/plan.h"
#include "common/text/format.h"
#include "launcher/host/state_place.h"
#include "stewards/store/store.h"

#define NEW_NAME ".new"

/* Sets that are kept at the same time. */
#define SETS_MAX 16

/* Random bytes. */
#define SUFFIX_BYTES 6
#define SUFFIX_MAX (2 * SUFFIX_BYTES + 1)

/* A sandbox is made right after its set. */
#define UNUSED_S 3600

/* The suffix, and the name without hosts, have room behind it. */
#define PROFILE_LONGEST (IPC_NAME_MAX - sizeof(PLAN_NARROWED PLAN_KEPT) - 2 * SUFFIX_BYTES)

struct kept_sets {
	int directory;
	uint32_t count;
	char suffixes[SETS_MAX][SUFFIX_MAX];
};

/* The file of a set, as msp-policy reads it (policy/read/kept.c). */
struct kept_content {
	size_t size;
	char bytes[65536];
};

static bool is_suffix(const char *name)
{
	return strlen(name) == SUFFIX_MAX - 1 && strspn(name, "0123456789abcdef") == SUFFIX_MAX - 1;
}

/* 0 or -errno; the directory, which is made, is the caller's. */
static int list_sets(struct kept_sets *ret, char text[STATE_PLACE_TEXT_MAX])
{
	char path[IPC_PATH_MAX];
	const struct dirent *entry;
	DIR *list;

	ret->count = 0;
	ret->directory = state_place_enter(STATE_PLACE_BINDS, true, path, text);
	if (ret->directory < 0)
		return ret->directory;
	list = fdopendir(fcntl(ret->directory, F_DUPFD_CLOEXEC, 0));
	if (!list)
		return -errno;
	while (ret->count < SETS_MAX && (entry = readdir(list))) {
		if (is_suffix(entry->d_name))
			memcpy(ret->suffixes[ret->count++], entry->d_name, SUFFIX_MAX);
	}
	(void)closedir(list);
	return 0;
}

static bool append_text(struct kept_content *content, const char *text)
{
	const size_t size = strlen(text) + 1;

	if (size > sizeof(content->bytes) - content->size)
		return false;
	memcpy(content->bytes + content->size, text, size);
	content->size += size;
	return true;
}

static bool append_pair(struct kept_content *content, const char *first, const char *second)
{
	return append_text(content, first) && append_text(content, second);
}

static bool fill_content(const struct kept_wish *wish, struct kept_content *ret)
{
	bool has_room = true;

	ret->size = 0;
	has_room = append_text(ret, wish->profile);
	for (uint32_t i = 0; i < wish->binds->count && has_room; i++)
		has_room = append_pair(ret, wish->binds->list[i].host, wish->binds->list[i].inside);
	for (uint32_t i = 0; i < wish->pair_count && has_room; i++)
		has_room = append_pair(ret, wish->pairs[i].first, wish->pairs[i].second);
	return has_room;
}

/* Let a set be as new. Each time that changes the key of kept plans, so it is not done early. */
static void renew_set(const struct kept_sets *sets, const char *suffix)
{
	struct stat status;

	if (fstatat(sets->directory, suffix, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    status.st_mtime < time(NULL) - UNUSED_S / 2)
		(void)utimensat(sets->directory, suffix, NULL, AT_SYMLINK_NOFOLLOW);
}

static bool has_content(const struct kept_sets *sets, const char *suffix,
			const struct kept_content *content)
{
	static char other[sizeof(content->bytes)];
	int fd FD_OWNED =
		openat(sets->directory, suffix, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const ssize_t size = fd < 0 ? -1 : read(fd, other, sizeof(other));

	return size == (ssize_t)content->size && memcmp(other, content->bytes, content->size) == 0;
}

/* Find the set with this content. */
static const char *find_same(const struct kept_sets *sets, const struct kept_content *content)
{
	for (uint32_t i = 0; i < sets->count; i++) {
		if (!has_content(sets, sets->suffixes[i], content))
			continue;
		renew_set(sets, sets->suffixes[i]);
		return sets->suffixes[i];
	}
	return NULL;
}

/* --- sets without a sandbox ------------------------------------------------------------------- */

/* Read the profile of a sandbox; false: its meta cannot be read. */
static bool read_profile(int sandboxes, const char *id, char ret[IPC_NAME_MAX])
{
	static struct store_meta meta;
	char path[IPC_ID_MAX + sizeof("/meta")];
	ssize_t size;
	int fd FD_OWNED = -1;

	format_text(path, sizeof(path), "%s/meta", id);
	fd = openat(sandboxes, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, &meta, sizeof(meta));
	if (size != (ssize_t)sizeof(meta) || !store_is_sound(&meta))
		return false;
	memcpy(ret, meta.profile, IPC_NAME_MAX);
	return true;
}

/* Mark the sets that sandboxes use. False: that cannot be told of each. */
static bool mark_used(const struct kept_sets *sets, bool used[SETS_MAX])
{
	char path[IPC_PATH_MAX], text[STATE_PLACE_TEXT_MAX], profile[IPC_NAME_MAX];
	const struct dirent *entry;
	bool is_known = true;
	DIR *list = state_place_find(STATE_PLACE_SANDBOXES, path, text) ? opendir(path) : NULL;

	while (list && is_known && (entry = readdir(list))) {
		const char *suffix;

		if (!store_is_id(entry->d_name))
			continue;
		is_known = read_profile(dirfd(list), entry->d_name, profile);
		suffix = is_known ? strrchr(profile, PLAN_KEPT[0]) : NULL;
		for (uint32_t i = 0; suffix && i < sets->count; i++)
			used[i] |= strcmp(sets->suffixes[i], suffix + 1) == 0;
	}
	is_known = is_known && list;
	if (list)
		(void)closedir(list);
	return is_known;
}

static void remove_unused(struct kept_sets *sets)
{
	bool used[SETS_MAX] = { false };
	uint32_t left = 0;

	if (sets->count == 0 || !mark_used(sets, used))
		return;
	for (uint32_t i = 0; i < sets->count; i++) {
		const char *suffix = sets->suffixes[i];
		struct stat status;

		if (!used[i] &&
		    fstatat(sets->directory, suffix, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    status.st_mtime < time(NULL) - UNUSED_S &&
		    unlinkat(sets->directory, suffix, 0) == 0)
			continue;
		memmove(sets->suffixes[left++], suffix, SUFFIX_MAX);
	}
	sets->count = left;
}

/* --- keeping ---------------------------------------------------------------------------------- */

/* Write a set that is complete when it has its name, in the place of one of this name. */
static int write_set(const struct kept_sets *sets, const struct kept_content *content,
		     const char *suffix)
{
	int fd FD_OWNED =
		openat(sets->directory, NEW_NAME,
		       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
	int error = fd < 0 ? -errno : fd_write_all(fd, content->bytes, content->size);

	if (!error && renameat(sets->directory, NEW_NAME, sets->directory, suffix) != 0)
		error = -errno;
	return error;
}

static int add_set(const struct kept_sets *sets, const struct kept_content *content,
		   char ret[SUFFIX_MAX])
{
	uint8_t bytes[SUFFIX_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	format_hex(bytes, sizeof(bytes), ret);
	return write_set(sets, content, ret);
}

static int refuse_write(const char *asker, int error, char text[CONFIG_TEXT_MAX])
{
	return format_fail(MSP_EXIT_REFUSED, text, CONFIG_TEXT_MAX,
			   "%s: the paths cannot be kept in the state directory: %s", asker,
			   errno_text(-error));
}

static int keep_content(struct kept_sets *sets, const struct kept_content *content,
			const char *asker, char ret[SUFFIX_MAX], bool *ret_is_new,
			char text[CONFIG_TEXT_MAX])
{
	const char *same = find_same(sets, content);
	int error;

	*ret_is_new = !same;
	if (same) {
		memcpy(ret, same, SUFFIX_MAX);
		return 0;
	}
	remove_unused(sets);
	if (sets->count == SETS_MAX)
		return format_fail(
			MSP_EXIT_AGAIN, text, CONFIG_TEXT_MAX,
			"%s: sandboxes that last show %d different sets of paths "
			"already: destroy one of these sandboxes, or give the same paths",
			asker, SETS_MAX);
	error = add_set(sets, content, ret);
	return error ? refuse_write(asker, error, text) : 0;
}

/* List the sets, and write the content of another. 0, or the exit code with a line in `text`. */
static int begin_keeping(const struct kept_wish *wish, struct kept_sets *sets,
			 struct kept_content *content, char text[CONFIG_TEXT_MAX])
{
	char problem[STATE_PLACE_TEXT_MAX] = "";

	if (list_sets(sets, problem) != 0)
		return format_fail(MSP_EXIT_REFUSED, text, CONFIG_TEXT_MAX, "%s: %s", wish->asker,
				   problem);
	if (strlen(wish->profile) > PROFILE_LONGEST)
		return format_fail(MSP_EXIT_USAGE, text, CONFIG_TEXT_MAX,
				   "%s: the name of the profile '%s' is too long: it may have at "
				   "most %zu characters for a sandbox that lasts",
				   wish->asker, wish->profile, PROFILE_LONGEST);
	if (fill_content(wish, content))
		return 0;
	return format_fail(MSP_EXIT_USAGE, text, CONFIG_TEXT_MAX,
			   "%s: the paths are too long, more than %d bytes in all: show a "
			   "folder that they are in",
			   wish->asker, (int)sizeof(content->bytes));
}

int kept_binds_add(const struct kept_wish *wish, char ret[IPC_NAME_MAX], bool *ret_is_new,
		   char text[CONFIG_TEXT_MAX])
{
	static struct kept_content content;
	static struct kept_sets sets;
	char suffix[SUFFIX_MAX] = "";
	int code = begin_keeping(wish, &sets, &content, text);

	if (!code)
		code = keep_content(&sets, &content, wish->asker, suffix, ret_is_new, text);
	format_text(ret, IPC_NAME_MAX, "%s" PLAN_KEPT "%s", wish->profile, suffix);
	fd_close(&sets.directory);
	return code;
}

int kept_binds_renew(const struct kept_wish *wish, const char *name, char text[CONFIG_TEXT_MAX])
{
	static struct kept_content content;
	static struct kept_sets sets;
	const size_t size = strlen(wish->profile);
	const char *suffix = name + size + 1;
	int code = begin_keeping(wish, &sets, &content, text);

	if (!code && (strlen(name) != size + sizeof(PLAN_KEPT) - 1 + SUFFIX_MAX - 1 ||
		      strncmp(name, wish->profile, size) != 0 || name[size] != PLAN_KEPT[0] ||
		      !is_suffix(suffix)))
		code = format_fail(MSP_EXIT_USAGE, text, CONFIG_TEXT_MAX,
				   "%s: '%s' is no profile of a set for '%s'", wish->asker, name,
				   wish->profile);
	if (!code && !has_content(&sets, suffix, &content)) {
		const int error = write_set(&sets, &content, suffix);

		code = error ? refuse_write(wish->asker, error, text) : 0;
	}
	fd_close(&sets.directory);
	return code;
}
