/* SPDX-License-Identifier: Apache-2.0
 *
 * The text read here is the kernel's: directory names of /proc that are numbers, the numbers of
 * statm, the lines "Pss:" of smaps_rollup and "MemAvailable:" of meminfo, and "Threads:", "Pid:"
 * and "PPid:" of status, where a newline in a process's name is escaped. Nothing in it can be
 * chosen by a workload.
 */
#include "watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text/text.h"
#include "memory.h"

#define AVAILABLE "\nMemAvailable:" /* in /proc/meminfo, which is the machine's */

static int proc = -1;
/* The machine's memory in KiB at the look before this one: with less, the sandbox took the
 * difference, or a neighbour did. */
static int64_t least_available;

int watch_open(void)
{
	proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return proc < 0 ? -errno : 0;
}

/* The number behind `key` in a process's file; 0 once the process has ended. */
static uint64_t read_number(const char *pid, const char *file, const char *key)
{
	struct text path = { .used = 0 };

	text_add(&path, pid);
	text_add(&path, file);
	return text_read_number(proc, path.bytes, key);
}

static void add_process(const char *pid, struct watch_usage *usage)
{
	const uint64_t resident = read_number(pid, "/statm", " "); /* its second number */

	usage->bytes += resident * MEMORY_PAGE;
	usage->live += resident > 0;
	usage->tasks += read_number(pid, "/status", "\nThreads:\t");
}

/* Stop measuring once the time is up, or too much memory is gone. */
static void add_share(const char *pid, struct watch_usage *usage)
{
	const bool is_late = clock_now_us() >= usage->late_us ||
			     (int64_t)read_number("meminfo", "", AVAILABLE) < least_available;

	usage->late_us = is_late ? 0 : usage->late_us;
	usage->shares += is_late ? 0 : read_number(pid, "/smaps_rollup", "\nPss:") * 1024;
}

/* All but PID 1; `visit` gets the name in /proc. The C library's readdir would need a heap; its
 * struct dirent is what getdents64(2) writes. */
static void each_process(void (*visit)(const char *, struct watch_usage *),
			 struct watch_usage *usage)
{
	long size;

	(void)lseek(proc, 0, SEEK_SET); /* a directory's start is always there */
	while ((size = syscall(SYS_getdents64, proc, scratch.directory, DIRECTORY_BYTES)) > 0) {
		for (long at = 0; at < size;) {
			const struct dirent *entry = (const void *)(scratch.directory + at);
			const char *name = entry->d_name;

			at += entry->d_reclen;
			if (name[0] >= '1' && name[0] <= '9' && strcmp(name, "1") != 0)
				visit(name, usage);
		}
	}
}

/* A mapping costs the reader of smaps_rollup up to a microsecond, and a process can have 65,530 of
 * them or more; statm costs the same for every process. */
struct watch_usage watch_processes(uint64_t files, uint64_t limit)
{
	const int64_t available = (int64_t)read_number("meminfo", "", AVAILABLE);
	struct watch_usage usage = { .bytes = files, .shares = files };

	each_process(add_process, &usage);
	usage.late_us = clock_now_us() + (usage.bytes > limit ? WATCH_LOOK_US : WATCH_GLANCE_US);
	each_process(add_share, &usage);
	if (clock_now_us() < usage.late_us)
		usage.bytes = usage.shares;
	least_available = available - (int64_t)(limit + limit / 4 - usage.bytes) / 1024;
	return usage;
}

/* An identifier costs the kernel less than 2 KiB beside its content. A process that undoes its
 * changes at its end (SEM_UNDO) has two bytes for each semaphore of a set, and less than 128 for
 * the set. */
uint64_t watch_ipc(uint32_t tasks)
{
	struct shm_info segments = { .shm_rss = 0 };
	struct msginfo messages = { .msgpool = 0 };
	struct seminfo semaphores = { .semusz = 0 };

	(void)shmctl(0, SHM_INFO, (void *)&segments); /* ENOSYS: the kernel has none */
	(void)msgctl(0, MSG_INFO, (void *)&messages);
	(void)semctl(0, 0, SEM_INFO, &semaphores);
	return (segments.shm_rss + segments.shm_swp) * MEMORY_PAGE + (uint64_t)messages.msgtql +
	       ((uint64_t)segments.used_ids + (uint64_t)messages.msgpool) * 2048 +
	       (uint64_t)messages.msgmap * 64 +
	       ((uint64_t)semaphores.semaem + (uint64_t)semaphores.semusz * 64) * (64 + 2 * tasks);
}

/* A process that is being killed makes nothing more, and may still hold a segment, which ends with
 * it. An identifier of -1 is none. */
void watch_clear_ipc(void)
{
	uint64_t any[64]; /* the description of one */

	for (int i = shmctl(0, SHM_INFO, (void *)any); i >= 0; i--)
		(void)shmctl(shmctl(i, SHM_STAT_ANY, (void *)any), IPC_RMID, NULL);
	for (int i = msgctl(0, MSG_INFO, (void *)any); i >= 0; i--)
		(void)msgctl(msgctl(i, MSG_STAT_ANY, (void *)any), IPC_RMID, NULL);
	for (int i = semctl(0, 0, SEM_INFO, any); i >= 0; i--)
		(void)semctl(semctl(i, 0, SEM_STAT_ANY, any), 0, IPC_RMID);
}

/* Processes to be killed. All are stopped, so they do not become more. Children are found by their
 * parents, so all are found before one is killed. */
static uint32_t family_count;

static bool is_of_family(uint64_t pid)
{
	uint32_t i = 0;

	while (i < family_count && (uint64_t)scratch.family[i] != pid)
		i++;
	return i < family_count;
}

static void add_member(pid_t pid)
{
	(void)kill(pid, SIGSTOP); /* ESRCH: it ended */
	scratch.family[family_count++] = pid;
}

static void add_child(const char *name, struct watch_usage *unused)
{
	const uint64_t pid = read_number(name, "/status", "\nPid:\t");

	if (family_count < FAMILY_MAX && !is_of_family(pid) &&
	    is_of_family(read_number(name, "/status", "\nPPid:\t")))
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
	return waitid(P_ALL, 0, NULL, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

/* The kernel looks at all that the machine runs for it. */
uint32_t watch_kill_all(uint32_t dying)
{
	static struct watch_usage rest;

	rest.live = 0;
	if (watch_has_children()) {
		each_process(add_process, &rest);
		(void)kill(-1, SIGKILL); /* ESRCH: what is left is dead */
	}
	return rest.live > dying ? (uint32_t)rest.live - dying : 0;
}

struct watch_store watch_files(const struct factory *factory, const struct plan_profile *profile)
{
	const struct plan *plan = &factory->plan;
	const struct plan_mount *mounts = plan_mounts(plan, profile);
	struct watch_store store = { .is_full = factory_is_full(factory) };

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const bool lasts = places_roles(&factory->places, i) != 0;
		struct statvfs now;

		if ((mounts[i].kind != PLAN_TMPFS && mounts[i].kind < PLAN_OVERLAY && !lasts) ||
		    statvfs(plan_string(plan, mounts[i].target), &now) != 0 ||
		    (now.f_flag & ST_RDONLY))
			continue; /* the workload hid it from view, so it is full for no process */
		store.bytes += lasts ? 0 : (now.f_blocks - now.f_bfree) * now.f_frsize;
		/* Some file systems have no count of inodes. */
		store.is_full |= now.f_bavail == 0 || (now.f_files > 0 && now.f_ffree == 0);
	}
	return store;
}

int watch_pause_ms(uint64_t used, uint64_t limit)
{
	const uint64_t pause = used < limit ? (limit - used) / WATCH_BYTES_PER_MS : 0;
	const uint64_t least = pause < WATCH_LEAST_MS ? WATCH_LEAST_MS : pause;

	return least > WATCH_MOST_MS ? WATCH_MOST_MS : (int)least;
}
