/* SPDX-License-Identifier: Apache-2.0
 *
 * The text read here is the kernel's: directory names of /proc that are numbers, and the line
 * "Pss:" of smaps_rollup. Nothing in it can be chosen by a workload.
 */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/text.h"

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

struct watch_usage watch_processes(void)
{
	static union {
		char bytes[8192];
		struct entry first; /* for its alignment */
	} buffer;
	struct watch_usage usage = { .bytes = 0 };
	long size;

	(void)lseek(proc, 0, SEEK_SET); /* a directory's start is always there */
	while ((size = syscall(SYS_getdents64, proc, buffer.bytes, sizeof(buffer.bytes))) > 0) {
		for (long at = 0; at < size;) {
			const void *here = buffer.bytes + at;
			const struct entry *entry = here;

			at += entry->size;
			if (entry->name[0] >= '1' && entry->name[0] <= '9' &&
			    strcmp(entry->name, "1") != 0)
				add_process(entry->name, &usage);
		}
	}
	return usage;
}

struct watch_store watch_files(const struct plan *plan, const struct plan_profile *profile)
{
	const struct plan_mount *mounts = plan_mounts(plan, profile);
	struct watch_store store = { .bytes = 0 };

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		struct statvfs now;

		if ((mounts[i].kind != PLAN_TMPFS && mounts[i].kind != PLAN_OVERLAY) ||
		    statvfs(plan_string(plan, mounts[i].target), &now) != 0)
			continue; /* one that a workload hid from view is full for nobody */
		store.bytes += (now.f_blocks - now.f_bfree) * now.f_frsize;
		store.is_full |= now.f_bfree == 0 || now.f_ffree == 0;
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
