/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/packages/packages.h"

#include "common/fd.h"
#include "common/limits.h"
#include "common/plan/plan.h"
#include "common/text/format.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT ".msp-next" /* a file before it has its name; no package has it */

/* Remove what the list does not have; a directory goes once it is empty. */
static void remove_others(const struct packages *packages, const char *place)
{
	char folder[IPC_PATH_MAX + sizeof("/" PACKAGES_TREE "/")];
	char *const roots[] = { folder, NULL };
	FTS *walk;
	const FTSENT *entry;

	format_text(folder, sizeof(folder), "%s/" PACKAGES_TREE "/", place);
	walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	while (walk != NULL && (entry = fts_read(walk)) != NULL) {
		if (entry->fts_level == 0 || entry->fts_info == FTS_D)
			continue;
		if (entry->fts_info == FTS_DP)
			(void)rmdir(entry->fts_accpath);
		else if (!packages_have(packages, entry->fts_path + strlen(folder), false))
			(void)unlink(entry->fts_accpath);
	}
	if (walk != NULL)
		(void)fts_close(walk);
}

/* Write a file or link, and the directories on the way. 0 or -errno. */
static int write_entry(int tree, const struct packages_file *file)
{
	const struct buffer *content = &file->content;
	char part[IPC_PATH_MAX];
	int fd FD_OWNED = -1;

	for (const char *slash = strchr(file->path, '/'); slash; slash = strchr(slash + 1, '/')) {
		format_text(part, sizeof(part), "%.*s", (int)(slash - file->path), file->path);
		(void)unlinkat(tree, part, 0); /* a file that is a directory since */
		(void)mkdirat(tree, part, 0755);
	}
	(void)unlinkat(tree, NEXT, 0);
	if (file->link == NULL)
		fd = openat(tree, NEXT, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if ((file->link != NULL ? symlinkat(file->link, tree, NEXT) != 0
				: fd < 0 || fd_write_all(fd, content->bytes, content->size) != 0) ||
	    renameat(tree, NEXT, tree, file->path) != 0)
		return -errno;
	return 0;
}

int packages_copy(struct packages *packages, const char *place)
{
	int directory FD_OWNED = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	static char name[] = PLAN_PACKAGES_WATCHED;
	int tree FD_OWNED = -1;
	const struct packages_file watched = { .path = name, .content = packages->watched };
	char path[IPC_PATH_MAX + sizeof(PACKAGES_TREE)];
	int error = 0;

	(void)umask(S_IWGRP | S_IWOTH); /* sandboxes' users may be others */
	if (directory < 0 || (mkdirat(directory, PACKAGES_TREE, 0755) != 0 && errno != EEXIST))
		return -errno;
	tree = openat(directory, PACKAGES_TREE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (tree < 0 || flock(tree, LOCK_EX) != 0) /* the second one of two starts waits */
		return -errno;
	format_text(path, sizeof(path), "%s/" PACKAGES_TREE, place);
	packages->tree = realpath(path, NULL); /* a home may be a link */
	if (packages->tree == NULL)
		return -errno;
	remove_others(packages, place);
	for (size_t i = 0; i < packages->count && error == 0; i++)
		error = write_entry(tree, &packages->files[i]);
	return error != 0 ? error : write_entry(directory, &watched);
}
