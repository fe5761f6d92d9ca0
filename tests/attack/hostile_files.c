/* SPDX-License-Identifier: Apache-2.0 */
#include "hostile_inner.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- files ------------------------------------------------------------------------------------ */

static struct {
	uint64_t flags, mode, resolve;
} how;

static int openat_flags(const char *name, int flags)
{
	return done_fd(CALL(openat, AT_FDCWD, in_place(name), flags, 0600));
}

static int openat2_flags(const char *name, uint64_t flags)
{
	how.flags = flags;
	return done_fd(CALL(openat2, AT_FDCWD, in_place(name), &how, sizeof(how)));
}

int act_read_file(void)
{
	return openat_flags("secret", O_RDONLY);
}

int act_read_file_old(void)
{
	return done_fd(CALL(open, in_place("secret"), O_RDONLY));
}

int act_read_file_new(void)
{
	return openat2_flags("secret", O_RDONLY);
}

int act_write_file(void)
{
	return openat_flags("secret", O_WRONLY);
}

int act_append_file(void)
{
	return openat_flags("secret", O_WRONLY | O_APPEND);
}

int act_read_folder(void)
{
	return openat_flags(".", O_RDONLY | O_DIRECTORY);
}

/* Landlock asks neither for reading nor for writing. */
int act_open_for_neither(void)
{
	return openat_flags("secret", O_ACCMODE);
}

int act_open_for_neither_new(void)
{
	return openat2_flags("secret", O_ACCMODE);
}

int act_path_file(void)
{
	return openat_flags("secret", O_PATH);
}

int act_path_folder(void)
{
	return openat_flags(".", O_PATH | O_DIRECTORY);
}

int act_path_new(void)
{
	return openat2_flags(".", O_PATH | O_DIRECTORY);
}

int act_path_old(void)
{
	return done_fd(CALL(open, in_place("."), O_PATH));
}

int act_path_root(void)
{
	return done_fd(CALL(openat, 3, "/", O_PATH | O_CLOEXEC, 0));
}

int act_make_file(void)
{
	return openat_flags("new", O_WRONLY | O_CREAT | O_EXCL);
}

int act_make_unnamed(void)
{
	return openat_flags(".", O_TMPFILE | O_RDWR);
}

int act_open_tree(void)
{
	return done_fd(CALL(open_tree, AT_FDCWD, in_place("."), 0));
}

int act_chdir(void)
{
	return done(CALL(chdir, in_place(".")));
}

int act_make_folder(void)
{
	return done(CALL(mkdirat, AT_FDCWD, in_place("made"), 0700));
}

int act_unlink(void)
{
	return done(CALL(unlinkat, AT_FDCWD, in_place("gone"), 0));
}

int act_truncate(void)
{
	return done(CALL(truncate, in_place("secret"), 3));
}

int act_chmod(void)
{
	return done(CALL(chmod, in_place("secret"), 0640));
}

int act_rename(void)
{
	return done(CALL(renameat, AT_FDCWD, in_place("moved"), AT_FDCWD, in_place("there")));
}

int act_rename_new(void)
{
	return done(CALL(renameat2, AT_FDCWD, in_place("moved2"), AT_FDCWD, in_place("there2"), 0));
}

int act_link(void)
{
	return done(CALL(linkat, AT_FDCWD, in_place("secret"), AT_FDCWD, in_place("second"), 0));
}

int act_symlink(void)
{
	return done(CALL(symlinkat, "secret", AT_FDCWD, in_place("symbolic")));
}

int act_make_pipe(void)
{
	return done(CALL(mknodat, AT_FDCWD, in_place("pipe"), S_IFIFO | 0600, 0));
}

int act_make_whiteout(void)
{
	return done(CALL(mknodat, AT_FDCWD, in_place("whiteout"), S_IFCHR | 0600, 0));
}

int act_chmod_at(void)
{
	return done(CALL(fchmodat, AT_FDCWD, in_place("secret"), 0640));
}

int act_chmod_new(void)
{
	return done(CALL(fchmodat2, AT_FDCWD, in_place("secret"), 0640, 0));
}

int act_chown(void)
{
	return done(CALL(fchownat, AT_FDCWD, in_place("secret"), getuid(), getgid(), 0));
}

int act_set_time(void)
{
	static const struct timespec times[2];

	return done(CALL(utimensat, AT_FDCWD, in_place("secret"), times, 0));
}

int act_set_time_now(void)
{
	return done(CALL(utimensat, AT_FDCWD, in_place("secret"), NULL, 0));
}

int act_set_attribute(void)
{
	return done(CALL(setxattr, in_place("secret"), "user.a", "b", 1, 0));
}

int act_list_attributes(void)
{
	char names[256];

	return done(CALL(listxattr, in_place("secret"), names, sizeof(names)));
}

int act_stat(void)
{
	struct stat status;

	return done(CALL(newfstatat, AT_FDCWD, in_place("secret"), &status, 0));
}

int act_stat_old(void)
{
	char status[256];

	return done(CALL(stat, in_place("secret"), status));
}

int act_stat_new(void)
{
	char status[512];

	return done(CALL(statx, AT_FDCWD, in_place("secret"), 0, 0, status));
}

int act_access(void)
{
	return done(CALL(access, in_place("secret"), R_OK));
}

int act_access_at(void)
{
	return done(CALL(faccessat, AT_FDCWD, in_place("secret"), R_OK));
}

int act_read_link(void)
{
	char text[64];

	return done(CALL(readlinkat, AT_FDCWD, in_place("link"), text, sizeof(text)));
}

int act_name_to_handle(void)
{
	struct {
		unsigned int bytes;
		int type;
		unsigned char handle[128];
	} handle = { .bytes = 128 };
	int mount;

	return done(CALL(name_to_handle_at, AT_FDCWD, in_place("secret"), &handle, &mount, 0));
}

int act_watch_folder(void)
{
	const long fd = CALL(inotify_init1, 0);
	const int error = fd < 0 ? errno : done(CALL(inotify_add_watch, fd, in_place("."), 2));

	if (fd >= 0)
		(void)close((int)fd);
	return error;
}

/* --- files, from a directory that the program was handed ---------------------------------------
 */

static const char *beside(const char *name)
{
	static char path[512];

	(void)snprintf(path, sizeof(path), "../../../../../../../../../../../../../..%s/%s",
		       HOSTILE_FOLDER, name);
	return path;
}

/* Try the act from each descriptor: 0, or the last errno. */
static int from_descriptors(int (*act)(int directory))
{
	int error = EBADF;

	for (int fd = 0; fd < 24 && error != 0; fd++) {
		const int now = act(fd);

		error = now == EBADF || now == ENOTDIR || now == EFAULT ? error : now;
	}
	return error;
}

static int read_from(int directory)
{
	how.flags = O_RDONLY;
	return done_fd(CALL(openat2, directory, beside("file"), &how, sizeof(how)));
}

static int write_from(int directory)
{
	return done_fd(CALL(openat, directory, beside("file"), O_WRONLY, 0));
}

static int path_from(int directory)
{
	how.flags = O_PATH;
	return done_fd(CALL(openat2, directory, beside("file"), &how, sizeof(how)));
}

static int stat_from(int directory)
{
	struct stat status;

	return done(CALL(newfstatat, directory, beside("file"), &status, 0));
}

static int chmod_from(int directory)
{
	return done(CALL(fchmodat, directory, beside("file"), 0640));
}

static int remove_from(int directory)
{
	return done(CALL(unlinkat, directory, beside("gone"), 0));
}

int act_beside_read(void)
{
	return from_descriptors(read_from);
}

int act_beside_write(void)
{
	return from_descriptors(write_from);
}

int act_beside_path(void)
{
	return from_descriptors(path_from);
}

int act_beside_stat(void)
{
	return from_descriptors(stat_from);
}

int act_beside_chmod(void)
{
	return from_descriptors(chmod_from);
}

int act_beside_remove(void)
{
	return from_descriptors(remove_from);
}
