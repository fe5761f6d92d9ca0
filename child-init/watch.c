/* SPDX-License-Identifier: Apache-2.0
 *
 * The text read here is the kernel's: directory names of /proc that are numbers, and the line
 * "Pss:" of smaps_rollup. Nothing in it can be chosen by a workload.
 */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
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

static uint64_t parse_number(const char *text)
{
	uint64_t number = 0;

	while (*text == ' ')
		text++;
	while (*text >= '0' && *text <= '9')
		number = number * 10 + (uint64_t)(*text++ - '0');
	return number;
}

static uint64_t process_bytes(const char *pid)
{
	struct text path = { .used = 0 };
	char content[512];
	const char *line;
	ssize_t size;
	int fd;

	text_add(&path, pid);
	text_add(&path, "/smaps_rollup");
	fd = openat(proc, path.bytes, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* it ended */
	size = read(fd, content, sizeof(content) - 1);
	fd_close(&fd);
	if (size <= 0)
		return 0;
	content[size] = '\0';
	line = strstr(content, "\nPss:");
	return line ? parse_number(line + 5) * 1024 : 0;
}

uint64_t watch_memory(void)
{
	static union {
		char bytes[8192];
		struct entry first; /* for its alignment */
	} buffer;
	uint64_t sum = 0;
	long size;

	(void)lseek(proc, 0, SEEK_SET); /* a directory's start is always there */
	while ((size = syscall(SYS_getdents64, proc, buffer.bytes, sizeof(buffer.bytes))) > 0) {
		for (long at = 0; at < size;) {
			const void *here = buffer.bytes + at;
			const struct entry *entry = here;

			at += entry->size;
			if (entry->name[0] < '1' || entry->name[0] > '9' ||
			    strcmp(entry->name, "1") == 0)
				continue;
			sum += process_bytes(entry->name);
		}
	}
	return sum;
}
