/* SPDX-License-Identifier: Apache-2.0
 *
 * The text read here is the kernel's: directory names of /proc that are numbers, the line "Pss:" of
 * smaps_rollup, and "Pid:" and "PPid:" of status, where a newline in a process's name is escaped.
 * Nothing in it can be chosen by a workload.
 */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"
#include "memory.h"

/* getdents64(2); the C library's readdir would need a heap */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

static int proc = -1;

int watch_open(void)
{
	proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return proc < 0 ? -errno : 0;
}

/* A process that ended meanwhile counts as nothing. */
static void add_process(const char *pid, struct watch_usage *usage)
{
	struct text memory = { .used = 0 };
	struct text tasks = { .used = 0 };
	struct stat found;

	text_add(&memory, pid);
	text_add(&memory, "/smaps_rollup");
	usage->bytes += text_read_number(proc, memory.bytes, "\nPss:") * 1024;
	text_add(&tasks, pid);
	text_add(&tasks, "/task");
	if (fstatat(proc, tasks.bytes, &found, 0) == 0)
		usage->tasks += found.st_nlink - 2; /* a subdirectory for each */
}

/* All but PID 1; `visit` gets the name in /proc. */
static void each_process(void (*visit)(const char *, struct watch_usage *),
			 struct watch_usage *usage)
{
	long size;

	(void)lseek(proc, 0, SEEK_SET); /* a directory's start is always there */
	while ((size = syscall(SYS_getdents64, proc, scratch.directory, DIRECTORY_BYTES)) > 0) {
		for (long at = 0; at < size;) {
			const void *here = scratch.directory + at;
			const struct entry *entry = here;

			at += entry->size;
			if (entry->name[0] >= '1' && entry->name[0] <= '9' &&
			    strcmp(entry->name, "1") != 0)
				visit(entry->name, usage);
		}
	}
}

struct watch_usage watch_processes(void)
{
	struct watch_usage usage = { .bytes = 0 };

	each_process(add_process, &usage);
	return usage;
}

/* Who is to be killed. None of them runs, so they do not become more; a parent that is gone would
 * leave nothing to know its children by, so all are found before one is killed. */
static uint32_t family_count;

static bool is_of_family(uint64_t pid)
{
	for (uint32_t i = 0; i < family_count; i++) {
		if ((uint64_t)scratch.family[i] == pid)
			return true;
	}
	return false;
}

static void add_member(pid_t pid)
{
	(void)kill(pid, SIGSTOP); /* ESRCH: it ended */
	scratch.family[family_count++] = pid;
}

static void add_child(const char *name, struct watch_usage *unused)
{
	struct text status = { .used = 0 };
	uint64_t pid;

	(void)unused;
	text_add(&status, name);
	text_add(&status, "/status");
	pid = text_read_number(proc, status.bytes, "\nPid:\t");
	if (family_count < FAMILY_MAX && !is_of_family(pid) &&
	    is_of_family(text_read_number(proc, status.bytes, "\nPPid:\t")))
		add_member((pid_t)pid);
}

void watch_kill_family(pid_t first)
{
	uint32_t known;

	family_count = 0;
	add_member(first);
	do {
		known = family_count;
		each_process(add_child, NULL);
	} while (family_count > known);
	(void)kill(-first, SIGKILL); /* ESRCH: it left */
	for (uint32_t i = 0; i < family_count; i++)
		(void)kill(scratch.family[i], SIGKILL);
}

bool watch_has_children(void)
{
	siginfo_t child;
	int status;

	do
		status = waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT);
	while (status != 0 && errno == EINTR);
	return status == 0 || errno != ECHILD;
}

/* The kernel looks at all that the machine runs for it. */
void watch_kill_all(void)
{
	if (watch_has_children())
		(void)kill(-1, SIGKILL); /* ESRCH: what is left is dead */
}

struct watch_store watch_files(const struct plan *plan, const struct plan_profile *profile,
			       const struct places *places)
{
	const struct plan_mount *mounts = plan_mounts(plan, profile);
	struct watch_store store = { .bytes = 0 };

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const bool lasts = places_roles(places, i) != 0;
		struct statvfs now;

		if ((mounts[i].kind != PLAN_TMPFS && mounts[i].kind != PLAN_OVERLAY && !lasts) ||
		    statvfs(plan_string(plan, mounts[i].target), &now) != 0 ||
		    (now.f_flag & ST_RDONLY))
			continue; /* one that a workload hid from view is full for nobody */
		store.bytes += lasts ? 0 : (now.f_blocks - now.f_bfree) * now.f_frsize;
		/* Some file systems have no count of inodes. */
		store.is_full |= now.f_bavail == 0 || (now.f_files > 0 && now.f_ffree == 0);
	}
	return store;
}

int watch_pause_ms(uint64_t used, uint64_t limit)
{
	const uint64_t pause = used < limit ? (limit - used) / WATCH_BYTES_PER_MS : 0;

	if (pause > WATCH_MOST_MS)
		return WATCH_MOST_MS;
	return pause < WATCH_LEAST_MS ? WATCH_LEAST_MS : (int)pause;
}
