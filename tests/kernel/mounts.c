/* SPDX-License-Identifier: Apache-2.0
 *
 * Mounts in nested namespaces made by an ordinary user: the template tree and the change of root.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/kernel.h"
#include "support.h"

#ifndef MOVE_MOUNT_F_EMPTY_PATH
#define MOVE_MOUNT_F_EMPTY_PATH 0x00000004
#endif

#define MOUNT_SPACE (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID)

/* A tree as the factory builds it: a tmpfs at /tmp with /usr bound read-only in it. */
static int build_template(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("template", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") != 0 ||
	    mkdir("/tmp/usr", 0755) != 0 || mkdir("/tmp/old", 0755) != 0 ||
	    mkdir("/tmp/proc", 0755) != 0)
		return errno;
	if (mount("/usr", "/tmp/usr", NULL, MS_BIND | MS_REC, NULL) != 0 ||
	    mount(NULL, "/tmp/usr", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
		  NULL) != 0)
		return errno;
	return mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
		     NULL) == 0
		       ? 0
		       : errno;
}

/* Clone the locked template, mount it and make it the root; the exit code tells how far it got. */
static int enter_template(void)
{
	const int template = kernel_open_tree(AT_FDCWD, "/tmp",
					      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	const int place = open("/mnt", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (template <0)
		return 1;
	if (place < 0 || syscall(SYS_move_mount, template, "", place, "",
				 MOVE_MOUNT_F_EMPTY_PATH | 0x00000040U /* to empty path */) != 0)
		return 2;
	if (chdir("/mnt") != 0)
		return 3;
	if (syscall(SYS_pivot_root, ".", ".") != 0)
		return 4;
	if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
		return 5;
	if (access("/usr/bin", X_OK) != 0 || access("/etc", F_OK) == 0)
		return 6;
	return 0;
}

static int nested(int (*act)(void))
{
	const int error = build_template();

	if (error)
		return UNPREPARED;
	return exit_of(NAMESPACES, act);
}

static int nested_enter(void)
{
	return nested(enter_template);
}

Test(mounts, a_locked_tree_can_be_cloned_and_become_the_root)
{
	cr_assert_eq(exit_of(MOUNT_SPACE, nested_enter), 0,
		     "each init starts from the factory's template tree");
}

/* 0 when the read-only flag of the inherited mount cannot be taken off. */
static int loosen_template(void)
{
	if (enter_template() != 0)
		return UNPREPARED;
	if (mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL) == 0)
		return 1;
	if (mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0)
		return 2;
	return umount2("/usr", MNT_DETACH) == 0 ? 3 : 0;
}

static int nested_loosen(void)
{
	return nested(loosen_template);
}

Test(mounts, flags_of_the_template_are_locked)
{
	cr_assert_eq(exit_of(MOUNT_SPACE, nested_loosen), 0,
		     "not even root of a sandbox makes /usr writable or takes it off");
}

static int fill_tmpfs(void)
{
	static char block[4096];
	int files = 0;
	int fd;

	if (mount("t", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=65536,nr_inodes=10") != 0)
		return UNPREPARED;
	fd = open("/tmp/big", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	for (int i = 0; i < 64; i++) {
		if (write(fd, block, sizeof(block)) < 0)
			break;
		files++;
	}
	if (files > 16 || errno != ENOSPC)
		return 1;
	for (files = 0; files < 64; files++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "/tmp/%d", files);
		if (open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0)
			break;
	}
	return files < 10 && errno == ENOSPC ? 0 : 2;
}

Test(mounts, tmpfs_limits_bytes_and_files)
{
	cr_assert_eq(exit_of(MOUNT_SPACE, fill_tmpfs), 0,
		     "/tmp, /workspace and /home/agent are limited by their tmpfs");
}

static int own_terminals(void)
{
	int master;

	if (mount("t", "/tmp", "tmpfs", MS_NOSUID, NULL) != 0 || mkdir("/tmp/pts", 0755) != 0)
		return UNPREPARED;
	if (mount("d", "/tmp/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		  "newinstance,ptmxmode=0666,mode=0620") != 0)
		return errno;
	master = open("/tmp/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	return master >= 0 && access("/tmp/pts/0", F_OK) == 0 ? 0 : 1;
}

Test(mounts, a_devpts_of_its_own_mounts)
{
	cr_assert_eq(exit_of(MOUNT_SPACE, own_terminals), 0,
		     "terminals of a sandbox are its own, numbered from 0");
}

/* A device node bound from the host works on a nodev tmpfs, by the flags of its own mount. */
static int bound_null(void)
{
	struct stat status;
	int fd;

	if (mount("t", "/tmp", "tmpfs", MS_NOSUID, NULL) != 0)
		return UNPREPARED;
	fd = open("/tmp/null", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || mount("/dev/null", "/tmp/null", NULL, MS_BIND, NULL) != 0)
		return UNPREPARED;
	fd = open("/tmp/null", O_WRONLY | O_CLOEXEC);
	return fd >= 0 && fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
			       write(fd, "x", 1) == 1
		       ? 0
		       : 1;
}

Test(mounts, device_nodes_can_be_bound)
{
	cr_assert_eq(exit_of(MOUNT_SPACE, bound_null), 0, "/dev holds bound nodes");
}

static int overlay_in_userns(void)
{
	if (mount("t", "/tmp", "tmpfs", MS_NOSUID, NULL) != 0 || mkdir("/tmp/u", 0755) != 0 ||
	    mkdir("/tmp/w", 0755) != 0 || mkdir("/tmp/l", 0755) != 0 || mkdir("/tmp/m", 0755) != 0)
		return UNPREPARED;
	return mount("o", "/tmp/m", "overlay", 0,
		     "userxattr,lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w") == 0
		       ? 0
		       : errno;
}

Test(mounts, overlay_mounts_with_userxattr)
{
	cr_assert_eq(exit_of(MOUNT_SPACE, overlay_in_userns), 0,
		     "copy-on-write workspaces rest on overlayfs in a user namespace");
}

static int resolve_beneath(void)
{
	int root;

	if (mount("t", "/tmp", "tmpfs", MS_NOSUID, NULL) != 0 || mkdir("/tmp/root", 0755) != 0 ||
	    symlink("/etc/passwd", "/tmp/root/link") != 0 || symlink("..", "/tmp/root/up") != 0)
		return UNPREPARED;
	root = open("/tmp/root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (kernel_openat2(root, "link", O_PATH, RESOLVE_IN_ROOT) >= 0)
		return 1; /* /etc/passwd is looked for beneath root, where it is not */
	if (kernel_openat2(root, "up/../..", O_PATH, RESOLVE_BENEATH) >= 0)
		return 2;
	if (kernel_openat2(root, "link", O_PATH, RESOLVE_NO_SYMLINKS) >= 0)
		return 3;
	return 0;
}

Test(mounts, openat2_stays_beneath)
{
	cr_assert_eq(exit_of(MOUNT_SPACE, resolve_beneath), 0,
		     "mount targets are resolved with openat2, never walked");
}
