/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that a workload shall not make, change or reach.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SYS_FCHMODAT2 452
#define RENAME_AS_WHITEOUT 4
#define WALK_FDS 32
#define WALK_TRIES 20
#define EXCHANGES 20000

static int open_and_close(const char *path, int flags)
{
	const int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);

	if (fd < 0)
		return errno;
	(void)close(fd);
	return SUCCEEDED;
}

static int act_open_read(char **arguments)
{
	return open_and_close(arguments[0], O_RDONLY);
}

static int act_open_write(char **arguments)
{
	return open_and_close(arguments[0], O_WRONLY);
}

static int act_create(char **arguments)
{
	return open_and_close(arguments[0], O_WRONLY | O_CREAT | O_EXCL);
}

/* At least one byte comes out. */
static int act_read(char **arguments)
{
	char byte;
	const int fd = open(arguments[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t size;

	if (fd < 0)
		return errno;
	size = read(fd, &byte, 1);
	return size > 0 ? SUCCEEDED : size == 0 ? ENODATA : errno;
}

static int act_list(char **arguments)
{
	return open_and_close(arguments[0], O_RDONLY | O_DIRECTORY);
}

static int act_write(char **arguments)
{
	const int fd = open(arguments[0], O_WRONLY | O_CLOEXEC);

	return fd < 0 ? errno : outcome(write(fd, arguments[1], strlen(arguments[1])));
}

static int act_stat(char **arguments)
{
	struct stat status;

	return outcome(lstat(arguments[0], &status));
}

/* --- set-user-ID and devices -------------------------------------------------------------------
 */

/* A new empty file, as /tmp/setid. */
static int make_file(void)
{
	(void)unlink("/tmp/setid");
	return open("/tmp/setid", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
}

static int setid_by_chmod(int fd)
{
	(void)fd;
	return chmod("/tmp/setid", 04755);
}

static int setid_by_fchmod(int fd)
{
	return fchmod(fd, 02755);
}

static int setid_by_fchmodat(int fd)
{
	(void)fd;
	return (int)syscall(SYS_fchmodat, AT_FDCWD, "/tmp/setid", 04755);
}

static int setid_by_fchmodat2(int fd)
{
	(void)fd;
	return (int)syscall(SYS_FCHMODAT2, AT_FDCWD, "/tmp/setid", 04755, 0);
}

static int setid_by_open(int fd)
{
	(void)fd;
	(void)unlink("/tmp/setid");
	return open("/tmp/setid", O_WRONLY | O_CREAT | O_CLOEXEC, 04755);
}

static int setid_by_open_raw(int fd)
{
	(void)fd;
	(void)unlink("/tmp/setid");
	return (int)syscall(SYS_open, "/tmp/setid", O_WRONLY | O_CREAT, 04755);
}

static int setid_by_tmpfile(int fd)
{
	(void)fd;
	return open("/tmp", O_WRONLY | O_TMPFILE | O_CLOEXEC, 04755);
}

static int setid_by_creat(int fd)
{
	(void)fd;
	(void)unlink("/tmp/setid");
	return (int)syscall(SYS_creat, "/tmp/setid", 04755);
}

static int setid_by_mknod(int fd)
{
	(void)fd;
	(void)unlink("/tmp/setid");
	return mknod("/tmp/setid", S_IFREG | 04755, 0);
}

/* A program of the group, by the calls with which a directory gets that bit. */
static int setid_by_group(int fd)
{
	(void)fd;
	return chmod("/tmp/setid", 02755);
}

static int setid_by_group_at(int fd)
{
	const int folder = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)fd;
	return folder < 0 ? -1 : (int)syscall(SYS_fchmodat, folder, "setid", 02755);
}

static int setid_by_link(int fd)
{
	(void)fd;
	(void)unlink("/tmp/setid-link");
	return symlink("setid", "/tmp/setid-link") != 0 ? -1 : chmod("/tmp/setid-link", 02755);
}

static int setid_by_own_file(int fd)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, 02755);
}

/* The name is a directory's, and the file's, in turn. */
static int setid_by_exchange(int fd)
{
	struct stat status = { .st_mode = 0 };
	int result = -1;
	const pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			(void)syscall(SYS_renameat2, AT_FDCWD, "/tmp/setid", AT_FDCWD,
				      "/tmp/setid-folder", 2 /* RENAME_EXCHANGE */);
	}
	if (pid < 0 || (mkdir("/tmp/setid-folder", 0755) != 0 && errno != EEXIST))
		return -1;
	for (int i = 0; i < EXCHANGES && !(status.st_mode & S_ISGID); i++) {
		result = chmod("/tmp/setid", 02755);
		if (fstat(fd, &status) != 0)
			break;
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	if (status.st_mode & S_ISGID)
		return 0;
	errno = result == 0 ? EPERM : errno;
	return -1;
}

static const struct {
	const char *name;
	int (*make)(int fd);
} setid_ways[] = {
	{ "group", setid_by_group },         { "group-at", setid_by_group_at },
	{ "link", setid_by_link },           { "own-file", setid_by_own_file },
	{ "exchange", setid_by_exchange },   { "chmod", setid_by_chmod },
	{ "fchmod", setid_by_fchmod },       { "fchmodat", setid_by_fchmodat },
	{ "fchmodat2", setid_by_fchmodat2 }, { "open", setid_by_open_raw },
	{ "openat", setid_by_open },         { "tmpfile", setid_by_tmpfile },
	{ "creat", setid_by_creat },         { "mknod", setid_by_mknod },
};

static int act_setid(char **arguments)
{
	const int fd = make_file();

	for (size_t i = 0; fd >= 0 && i < sizeof(setid_ways) / sizeof(setid_ways[0]); i++) {
		if (strcmp(setid_ways[i].name, arguments[0]) == 0)
			return outcome(setid_ways[i].make(fd));
	}
	return UNPREPARED;
}

static int act_mknod(char **arguments)
{
	const mode_t type = arguments[0][0] == 'b' ? S_IFBLK : S_IFCHR;
	const long major_number = number_of(arguments + 1);

	/* 0:0 is an overlay's whiteout: everyone may make it where the file system allows. */
	return outcome(mknod("/tmp/node", type | 0600, makedev((unsigned)major_number, 0)));
}

static int act_rename_whiteout(char **arguments)
{
	const int fd = make_file();

	(void)arguments;
	if (fd < 0)
		return UNPREPARED;
	return outcome(syscall(SYS_renameat2, AT_FDCWD, "/tmp/setid", AT_FDCWD, "/tmp/moved",
			       RENAME_AS_WHITEOUT));
}

/* Capabilities that a program would get when it is executed. */
static int act_file_capability(char **arguments)
{
	/* struct vfs_cap_data of version 2, everything permitted and effective */
	const uint32_t data[] = { 0x02000001, 0xffffffff, 0, 0x1ff, 0 };
	const int fd = make_file();

	(void)arguments;
	if (fd < 0)
		return UNPREPARED;
	return outcome(fsetxattr(fd, "security.capability", data, sizeof(data), 0));
}

/* PATH: a file of the host by its own name, and by what the tree that a sandbox is made in calls
 * it. */
static int act_host_file(char **arguments)
{
	static const char *const prefixes[] = { "",    "/host",        "/../host",
						"/..", "/proc/1/root", "/proc/1/root/host" };
	int result = ENOENT;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		char path[4200];
		char *argument[] = { path, NULL };

		(void)snprintf(path, sizeof(path), "%s%s", prefixes[i], arguments[0]);
		result = act_read(argument);
		if (result == SUCCEEDED) {
			(void)printf("%s\n", path);
			return SUCCEEDED;
		}
	}
	return result;
}

/* --- the whole tree ----------------------------------------------------------------------------
 */

static char **allowed; /* prefixes where writing is meant to work */
static const char *wanted;
static int found;

static bool is_allowed(const char *path)
{
	for (char **prefix = allowed; *prefix; prefix++) {
		const size_t size = strlen(*prefix);

		if (strncmp(path, *prefix, size) == 0 && (path[size] == '\0' || path[size] == '/'))
			return true;
	}
	return false;
}

static void report(const char *kind, const char *path)
{
	(void)printf("%s %s\n", kind, path);
	found++;
}

static void try_directory(const char *path)
{
	char child[4200];

	(void)snprintf(child, sizeof(child), "%s/.probe", path);
	if (mkdir(child, 0700) == 0) {
		(void)rmdir(child);
		report("directory", path);
	}
}

static int visit_write(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)where;
	if (is_allowed(path))
		return type == FTW_D ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
	if (type == FTW_D || type == FTW_DNR)
		try_directory(path);
	else if (type == FTW_F && !S_ISCHR(status->st_mode) &&
		 open_and_close(path, O_WRONLY) == SUCCEEDED)
		report("file", path);
	return FTW_CONTINUE;
}

static int walk(const char *from,
		int (*visit)(const char *, const struct stat *, int, struct FTW *))
{
	int result;
	int tries = WALK_TRIES;

	/* A folder that goes before it is opened ends a walk: on the host others work. */
	do {
		found = 0;
		result = nftw(from, visit, WALK_FDS, FTW_PHYS | FTW_ACTIONRETVAL);
	} while (result < 0 && errno == ENOENT && --tries > 0);
	if (result < 0)
		return UNPREPARED;
	return found > 0 ? SUCCEEDED : ENOENT;
}

static int act_write_anywhere(char **arguments)
{
	allowed = arguments + 1;
	return walk(arguments[0], visit_write);
}

static int visit_name(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	if (strcmp(path + where->base, wanted) == 0)
		report("found", path);
	return FTW_CONTINUE;
}

static int act_find_name(char **arguments)
{
	wanted = arguments[1];
	return walk(arguments[0], visit_name);
}

/* Sockets, block devices, and set-ID files on a mount that would honour them. */
static int visit_special(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)type;
	(void)where;
	if (S_ISSOCK(status->st_mode))
		report("socket", path);
	if (S_ISBLK(status->st_mode))
		report("block device", path);
	return FTW_CONTINUE;
}

static int act_find_special(char **arguments)
{
	return walk(arguments[0], visit_special);
}

static const struct act list[] = {
	{ "open-read", act_open_read },
	{ "open-write", act_open_write },
	{ "create", act_create },
	{ "read", act_read },
	{ "list", act_list },
	{ "write", act_write },
	{ "stat", act_stat },
	{ "setid", act_setid },
	{ "mknod", act_mknod },
	{ "rename-whiteout", act_rename_whiteout },
	{ "file-capability", act_file_capability },
	{ "host-file", act_host_file },
	{ "write-anywhere", act_write_anywhere },
	{ "find-name", act_find_name },
	{ "find-special", act_find_special },
};

const struct acts file_acts = ACTS(list);
