/* SPDX-License-Identifier: Apache-2.0
 *
 * Linked into every program of the coverage build. Counts in a file: at start a file is mapped over
 * the program's line counters, so that what it runs is counted however it ends, by _exit, exec or
 * SIGKILL, in whatever child and behind whatever confinement.
 *
 * With MSP_COVERAGE_DUMP=FOLDER in its environment a program only writes what has been counted into
 * FOLDER, as the .gcda files that gcov reads, and ends.
 *
 * A program that its file is out of reach for, in a sandbox, counts for itself and works on. One
 * that reaches its file and cannot map it ends: what it does would be lost without a word.
 */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <gcov.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct gcov_info;

/* Of counters.ld. */
extern char coverage_counters_start[], coverage_counters_end[];
extern const struct gcov_info *coverage_infos_start[], *coverage_infos_end[];

/* The compiler refers to it for libgcov's own way of writing files, which is not linked. */
void __gcov_merge_add(int64_t *counters, unsigned int count);
void __gcov_merge_add(int64_t *counters, unsigned int count)
{
	abort();
}

static void map_file(void)
{
	const size_t size = (size_t)(coverage_counters_end - coverage_counters_start);
	void *place = coverage_counters_start;
	const int fd = open(COVERAGE_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0)
		return;
	if (size > 0 &&
	    (ftruncate(fd, (off_t)size) != 0 ||
	     mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != place))
		abort();
	(void)close(fd); /* the mapping stays */
}

/* --- writing ---------------------------------------------------------------------------------- */

/* One .gcda file: its bytes, then its place. */
struct dump {
	const char *folder;
	int fd;
};

/* The object's path with # for /: the reader finds the object's notes by it. */
static void open_dump(const char *path, void *argument)
{
	struct dump *dump = argument;
	char name[4096];
	const int prefix = snprintf(name, sizeof(name), "%s/", dump->folder);
	const int size = snprintf(name + prefix, sizeof(name) - (size_t)prefix, "%s", path);

	if (size < 0 || (size_t)(prefix + size) >= sizeof(name))
		abort();
	for (char *at = name + prefix; *at; at++)
		*at = (char)(*at == '/' ? '#' : *at);
	dump->fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (dump->fd < 0)
		abort();
}

static void write_dump(const void *bytes, unsigned int size, void *argument)
{
	const struct dump *dump = argument;

	if (write(dump->fd, bytes, size) != (ssize_t)size)
		abort();
}

static void *allocate(unsigned int size, void *argument)
{
	void *memory = malloc(size);

	if (!memory)
		abort();
	return memory;
}

__attribute__((constructor)) static void coverage_start(void)
{
	struct dump dump = { .folder = getenv("MSP_COVERAGE_DUMP") };

	map_file();
	if (!dump.folder)
		return;
	for (const struct gcov_info **info = coverage_infos_start; info < coverage_infos_end;
	     info++) {
		__gcov_info_to_gcda(*info, open_dump, write_dump, allocate, &dump);
		(void)close(dump.fd);
	}
	_exit(0);
}
