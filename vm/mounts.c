/* SPDX-License-Identifier: Apache-2.0
 *
 * The root's file system shows the mounts in it, too, so that those that can only be read need no
 * own one. Those that can be written have one, since the machine keeps nothing of them in memory.
 */
#include "vm/mounts.h"

#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"

#define TABLE "/proc/self/mounts"

/* File systems of the kernel, which the machine has its own of. */
static bool is_left_out(const char *path)
{
	static const char *const tops[] = { "/proc", "/dev", "/sys" };

	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		const size_t length = strlen(tops[i]);

		if (strncmp(path, tops[i], length) == 0 &&
		    (path[length] == '/' || path[length] == '\0'))
			return true;
	}
	return false;
}

static bool is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool has_entry(const struct mounts *mounts, const char *path)
{
	for (uint32_t i = 0; i < mounts->count; i++) {
		if (strcmp(mounts->list[i].path, path) == 0)
			return true;
	}
	return false;
}

static bool add_mount(struct mounts *mounts, const char *path, bool is_writable)
{
	struct mount_entry *entry = &mounts->list[mounts->count];

	if (mounts->count == MOUNTS_MAX)
		return log_fail(false,
				"the sandbox has more than %u directories that can be written, and "
				"a machine shows no more; leave some out of the profile's files",
				MOUNTS_MAX - 1);
	if (strlen(path) >= sizeof(entry->path))
		return log_fail(false, "the path of a mount has more than %zu bytes: %.80s...",
				sizeof(entry->path) - 1, path);
	entry->is_writable = is_writable;
	memcpy(entry->path, path, strlen(path) + 1);
	mounts->count++;
	return true;
}

bool mounts_read(FILE *table, struct mounts *ret)
{
	const struct mntent *entry;
	bool is_good;

	ret->count = 0;
	is_good = add_mount(ret, "/", access("/", W_OK) == 0);
	while (is_good && (entry = getmntent(table)) != NULL) {
		const char *path = entry->mnt_dir;

		if (hasmntopt(entry, "rw") != NULL && !is_left_out(path) && !has_entry(ret, path) &&
		    is_directory(path) && access(path, W_OK) == 0)
			is_good = add_mount(ret, path, true);
	}
	return is_good;
}

bool mounts_find(struct mounts *ret)
{
	FILE *table = setmntent(TABLE, "re");
	bool is_good;

	if (table == NULL)
		return log_fail(false, TABLE " cannot be read: %s", errno_text(errno));
	is_good = mounts_read(table, ret);
	(void)endmntent(table);
	return is_good;
}
