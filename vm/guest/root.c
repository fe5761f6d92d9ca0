/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine's root: the sandbox's directories by 9p, the kernel's own file systems over them.
 */
#include "guest.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT "/root"

/* The machine keeps in its memory what can only be read. Other executions see what is written at
 * once. */
#define OPTIONS "trans=virtio,version=9p2000.L,msize=512000,access=any,cache=%s"

void root_mount(struct guest *guest, const struct wire_mount *wanted)
{
	char path[sizeof(ROOT) + IPC_PATH_MAX], options[128], act[128];
	const bool is_root = guest->mount_count++ == 0;

	(void)snprintf(path, sizeof(path), ROOT "%s", is_root ? "" : wanted->path);
	(void)snprintf(options, sizeof(options), OPTIONS, wanted->is_writable ? "mmap" : "loose");
	(void)snprintf(act, sizeof(act), "mounting %.100s", wanted->path);
	if (mount(wanted->tag, path, "9p",
		  MS_NOSUID | MS_NODEV | (wanted->is_writable ? 0 : MS_RDONLY), options) != 0)
		port_fail(guest, act, errno);
}

/* Mount over a directory of the sandbox, where it has one. */
static void mount_over(const char *type, const char *path, unsigned long flags, const char *options)
{
	(void)mount(type, path, type, MS_NOSUID | flags, options);
}

void root_enter(struct guest *guest)
{
	static const char *const links[][2] = {
		{ "/proc/self/fd", "/dev/fd" },
		{ "/proc/self/fd/0", "/dev/stdin" },
		{ "/proc/self/fd/1", "/dev/stdout" },
		{ "/proc/self/fd/2", "/dev/stderr" },
	};

	if (mount("/dev", ROOT "/dev", NULL, MS_MOVE, NULL) != 0)
		port_fail(guest, "moving /dev", errno);
	if (mount("/proc", ROOT "/proc", NULL, MS_MOVE, NULL) != 0)
		port_fail(guest, "moving /proc", errno);
	if (chdir(ROOT) != 0 || mount(".", "/", NULL, MS_MOVE, NULL) != 0 || chroot(".") != 0 ||
	    chdir("/") != 0)
		port_fail(guest, "changing to the root", errno);
	mount_over("sysfs", "/sys", MS_NODEV | MS_NOEXEC, NULL);
	(void)mkdir("/dev/pts", 0755);
	(void)mkdir("/dev/shm", 01777);
	mount_over("devpts", "/dev/pts", MS_NOEXEC, "ptmxmode=0666,mode=0620");
	mount_over("tmpfs", "/dev/shm", MS_NODEV | MS_NOEXEC, "mode=1777");
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		(void)symlink(links[i][0], links[i][1]);
}
