/* SPDX-License-Identifier: Apache-2.0 */
#include "look.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PATHS 8

static char folder[] = "/tmp/msp-mounts-test-XXXXXX";

static int is_name(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

const char *look_list(const char *path)
{
	static char list[1024];
	struct dirent **entries;
	const int count = scandir(path, &entries, is_name, alphasort);
	size_t used = 0;

	if (count < 0)
		return "?";
	list[0] = '\0';
	for (int i = 0; i < count; i++) {
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i > 0 ? " " : "",
					 entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return list;
}

bool look_holds(const char *path, const char *names)
{
	const char *list = look_list(path);

	if (strcmp(list, names) == 0)
		return true;
	(void)fprintf(stderr, "%s holds: %s\n", path, list);
	return false;
}

bool look_says(const char *path, const char *text)
{
	char content[256] = "";
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t size = read(fd, content, sizeof(content) - 1);

	(void)close(fd); /* only read */
	return size >= 0 && strcmp(content, text) == 0;
}

mode_t look_mode(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 ? status.st_mode : 0;
}

static int open_error(const char *path, int flags)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);

	if (fd < 0)
		return errno;
	(void)close(fd); /* nothing was written */
	return 0;
}

int look_create(const char *path)
{
	return open_error(path, O_CREAT | O_EXCL);
}

int look_write(const char *path)
{
	return open_error(path, 0);
}

int look_remount(const char *path)
{
	return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL) == 0 ? 0 : errno;
}

bool look_flags(const char *path, unsigned long flags)
{
	struct statvfs status;

	return statvfs(path, &status) == 0 && (status.f_flag & flags) == flags;
}

static void make_file(const char *name, const char *text)
{
	const int fd = open(look_folder(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0, "%s", name);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	(void)close(fd); /* written */
}

const char *look_folder_make(void)
{
	(void)umask(022);
	cr_assert_not_null(mkdtemp(folder));
	make_file("file", "of the host");
	cr_assert_eq(mkdir(look_folder("folder"), 0755), 0);
	make_file("folder/inner", "inner text");
	cr_assert_eq(mkdir(look_folder("folder/sub"), 0755), 0);
	make_file("folder/sub/deep", "deep text");
	cr_assert_eq(symlink("folder", look_folder("link")), 0);
	return folder;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	return remove(path);
}

/* An overlay's work directory has one of mode 0 inside, which is not always empty. */
static int open_up(const char *path, const struct stat *status, int type, struct FTW *where)
{
	return type == FTW_D || type == FTW_DNR ? chmod(path, 0700) : 0;
}

void look_folder_remove(void)
{
	/* Each before what is in it; one that could not be read was not walked into. */
	for (int i = 0; i < 4; i++)
		(void)nftw(folder, open_up, 8, FTW_PHYS);
	(void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *look_folder(const char *name)
{
	static char paths[PATHS][128];
	static int next;
	char *path = paths[next++ % PATHS];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}
