/* SPDX-License-Identifier: Apache-2.0
 *
 * list PATH DEPTH SKIP MOST PATTERN: the entries of a directory, and of the directories below it.
 * Symbolic links are listed, not followed. The order is fixed, so that a later call can continue.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "common/fd.h"
#include "lib/heap/grow.h"

static struct {
	uint64_t depth;
	uint64_t skip;
	uint64_t most;
	const char *pattern; /* NULL: everything */
	bool is_more;
	char path[PATH_MAX]; /* the current entry, below the listed directory */
} list;

struct names {
	char **list;
	size_t count, room;
};

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Read the names and close `folder`. False: it could not be read. */
static bool read_names(int folder, struct names *ret)
{
	DIR *stream = fdopendir(folder);
	const struct dirent *entry;

	if (!stream) {
		fd_close(&folder);
		return false;
	}
	while ((entry = readdir(stream))) {
		if (!is_dot(entry->d_name) &&
		    !grow_text(&ret->list, &ret->room, &ret->count, sizeof(char *), entry->d_name))
			_exit(1); /* the reader sees that the last entry is missing */
	}
	(void)closedir(stream);
	list_sort(ret->list, ret->count, sizeof(char *));
	return true;
}

/* Match the pattern: without "/" the last name; ** stands for any number of directories. */
static bool is_wanted(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!list.pattern)
		return true;
	if (!strchr(list.pattern, '/'))
		return fnmatch(list.pattern, slash ? slash + 1 : path, 0) == 0;
	if (strncmp(list.pattern, "**/", 3) == 0 && fnmatch(list.pattern + 3, path, 0) == 0)
		return true;
	return fnmatch(list.pattern, path, strstr(list.pattern, "**") ? 0 : FNM_PATHNAME) == 0;
}

static void tell_entry(int folder, const char *name, const struct stat *status, uint32_t flags)
{
	static char link[PATH_MAX];
	struct file_entry entry = { .mode = status->st_mode,
				    .flags = flags,
				    .size = (uint64_t)status->st_size,
				    .modified_s = status->st_mtime,
				    .path_size = (uint32_t)strlen(list.path) };
	ssize_t size = 0;

	if (S_ISLNK(status->st_mode))
		size = readlinkat(folder, name, link, sizeof(link));
	entry.link_size = size > 0 ? (uint32_t)size : 0;
	answer_bytes(&entry, sizeof(entry));
	answer_bytes(list.path, entry.path_size);
	answer_bytes(link, entry.link_size);
}

/* Count an entry. True if it belongs to this page. */
static bool count_one(void)
{
	if (list.skip > 0) {
		list.skip--;
		return false;
	}
	if (list.most == 0) {
		list.is_more = true;
		return false;
	}
	list.most--;
	return true;
}

static void list_folder(int folder, uint64_t depth);

static void look_at(int folder, const char *name, uint64_t depth)
{
	struct stat status;
	int below = -1;

	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return; /* it was removed meanwhile */
	if (S_ISDIR(status.st_mode))
		below = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (is_wanted(list.path) && count_one())
		tell_entry(folder, name, &status,
			   S_ISDIR(status.st_mode) && below < 0 ? FILE_ENTRY_UNREADABLE : 0);
	if (below >= 0 && depth > 1 && !list.is_more)
		list_folder(below, depth - 1);
	else
		fd_close(&below);
}

/* List the entries of `folder` and close it. Each level below needs one more descriptor;
 * FILE_DEPTH_MAX bounds them. */
static void list_folder(int folder, uint64_t depth)
{
	const size_t length = strlen(list.path);
	struct names names = { 0 };
	int own = fcntl(folder, F_DUPFD_CLOEXEC, 0);

	if (!read_names(folder, &names) || own < 0) {
		fd_close(&own);
		list_free(names.list, names.count, sizeof(char *));
		return;
	}
	for (size_t i = 0; i < names.count && !list.is_more; i++) {
		const size_t size = strlen(names.list[i]);

		if (length + size + 2 > sizeof(list.path))
			continue; /* the path would be longer than PATH_MAX */
		list.path[length] = '/';
		memcpy(list.path + length + (length > 0), names.list[i], size + 1);
		look_at(own, names.list[i], depth);
		list.path[length] = '\0';
	}
	fd_close(&own);
	list_free(names.list, names.count, sizeof(char *));
}

void command_list(char **arguments)
{
	struct file_head head = { .problem = FILE_DONE };
	const struct file_entry last = { .mode = 0 };
	struct file_entry end = last;
	struct stat status;
	int folder;

	list.depth = answer_number(arguments[1]);
	list.skip = answer_number(arguments[2]);
	list.most = answer_number(arguments[3]);
	list.pattern = arguments[4][0] ? arguments[4] : NULL;
	if (list.depth == 0 || list.depth > FILE_DEPTH_MAX)
		answer_problem(FILE_MISUSED);
	folder = open(arguments[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 && errno == ENOENT)
		answer_missing(arguments[0], 0);
	if (folder < 0 || fstat(folder, &status) != 0)
		answer_problem(FILE_ERROR);
	head.mode = status.st_mode;
	answer_begin(head);
	list_folder(folder, list.depth);
	end.flags = list.is_more ? FILE_ENTRY_MORE : 0;
	answer_bytes(&end, sizeof(end));
}
