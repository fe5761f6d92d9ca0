/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls as a listener would get them, of this process, on files in /tmp.
 */
#include "common/confine/directory_mode.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char folder[] = "/tmp/msp-mode-XXXXXX";

static void setup(void)
{
	cr_assert(mkdtemp(folder) != NULL && chdir(folder) == 0);
	cr_assert(mkdir("d", 0700) == 0 && mkdir("d/inner", 0700) == 0);
	cr_assert(symlink("d", "to-d") == 0 && symlink("f", "to-f") == 0);
	cr_assert(symlink("/proc/self/cwd", "magic") == 0);
	cr_assert_eq(close(open("f", O_WRONLY | O_CREAT, 0600)), 0);
	cr_assert_eq(mkfifo("p", 0600), 0);
}

static void teardown(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	cr_expect(chdir("/") == 0 && system(command) == 0); /* NOLINT(concurrency-mt-unsafe) */
}

TestSuite(directory_mode, .init = setup, .fini = teardown);

static int ask(int number, uint64_t first, uint64_t second, uint64_t third)
{
	const struct seccomp_notif call = {
		.pid = (uint32_t)getpid(),
		.data = { .nr = number, .args = { first, second, third } },
	};

	return directory_mode_set(&call);
}

static uint64_t at(const char *name)
{
	return (uint64_t)(uintptr_t)name;
}

static int by_name(const char *name, mode_t mode)
{
	return ask(SYS_chmod, at(name), mode, 0);
}

static mode_t mode_of(const char *name)
{
	struct stat status = { .st_mode = 0 };

	cr_assert_eq(stat(name, &status), 0, "%s", name);
	return status.st_mode & 07777;
}

Test(directory_mode, each_call_and_each_kind_of_name)
{
	char absolute[64], own[64];
	const int here = open(".", O_PATH | O_DIRECTORY);
	const int inner = open("d/inner", O_RDONLY | O_DIRECTORY);
	const int path = open("d/inner", O_PATH | O_DIRECTORY);

	(void)snprintf(absolute, sizeof(absolute), "%s/d", folder);
	(void)snprintf(own, sizeof(own), "/proc/self/fd/%d", path);
	cr_expect_eq(by_name("d", 02755), 0);
	cr_expect_eq(mode_of("d"), 02755);
	cr_expect_eq(by_name(absolute, 03770), 0);
	cr_expect_eq(mode_of("d"), 03770);
	cr_expect_eq(by_name("to-d", 02700), 0, "as chmod(2), by a link");
	cr_expect_eq(mode_of("d"), 02700);
	cr_expect_eq(ask(SYS_fchmodat, (uint64_t)(int64_t)AT_FDCWD, at("d"), 02711), 0);
	cr_expect_eq(mode_of("d"), 02711);
	cr_expect_eq(ask(SYS_fchmodat, (uint32_t)AT_FDCWD, at("d"), 02712), 0);
	cr_expect_eq(mode_of("d"), 02712);
	cr_expect_eq(ask(SYS_fchmodat, (uint64_t)here, at("d"), 02713), 0);
	cr_expect_eq(mode_of("d"), 02713);
	cr_expect_eq(ask(SYS_fchmod, (uint64_t)inner, 02750, 0), 0);
	cr_expect_eq(mode_of("d/inner"), 02750);
	cr_expect_eq(by_name(own, 02751), 0, "fchmodat(3) without links");
	cr_expect_eq(mode_of("d/inner"), 02751);
	cr_expect_eq(ask(SYS_chmod, at("d"), 0xdead0000U | 02755, 0), 0, "the kernel drops these");
	cr_expect_eq(mode_of("d"), 02755);
	(void)close(here);
	(void)close(inner);
	(void)close(path);
}

Test(directory_mode, only_of_directories)
{
	const int file = open("f", O_RDWR);
	char own[64];

	(void)snprintf(own, sizeof(own), "/proc/self/fd/%d", file);
	cr_expect_eq(by_name("f", 02755), -EPERM);
	cr_expect_eq(by_name("to-f", 02755), -EPERM);
	cr_expect_eq(by_name("p", 02755), -EPERM);
	cr_expect_eq(by_name(own, 02755), -EPERM);
	cr_expect_eq(by_name("f/x", 02755), -EPERM);
	cr_expect_eq(ask(SYS_fchmod, (uint64_t)file, 02755, 0), -EPERM);
	cr_expect_eq(ask(SYS_fchmodat, (uint64_t)(int64_t)AT_FDCWD, at("f"), 02755), -EPERM);
	cr_expect_eq(mode_of("f"), 0600);
	(void)close(file);
}

Test(directory_mode, only_that_bit_and_these_calls)
{
	cr_expect_eq(by_name("d", 04755), -EPERM);
	cr_expect_eq(by_name("d", 06755), -EPERM);
	cr_expect_eq(by_name("d", 0755), -EPERM, "the filter allows it");
	cr_expect_eq(ask(SYS_mkdir, at("d"), 02755, 0), -EPERM);
	cr_expect_eq(ask(SYS_socket, 16, 2, 0), -EPERM);
	cr_expect_eq(ask(452 /* fchmodat2 */, (uint64_t)(int64_t)AT_FDCWD, at("d"), 02755), -EPERM);
	cr_expect_eq(mode_of("d"), 0700);
}

Test(directory_mode, names_that_lead_nowhere_have_the_kernels_answer)
{
	static char endless[8192];

	memset(endless, 'a', sizeof(endless));
	cr_expect_eq(by_name("", 02755), -ENOENT);
	cr_expect_eq(by_name("missing", 02755), -ENOENT);
	cr_expect_eq(by_name(endless, 02755), -ENAMETOOLONG);
	cr_expect_eq(by_name(NULL, 02755), -EPERM);
	cr_expect_eq(ask(SYS_fchmod, 4000, 02755, 0), -EPERM);
	cr_expect_eq(ask(SYS_fchmod, UINT64_MAX, 02755, 0), -EPERM);
	cr_expect_eq(by_name("/proc", 02755), geteuid() == 0 ? by_name("/proc", 02755) : -EPERM);
}

/* The caller has files that the process has not. */
Test(directory_mode, no_name_leads_to_a_file_of_the_callers)
{
	static const char *const names[] = { "magic",
					     "magic/d",
					     "/proc/self/cwd",
					     "/proc/self/root",
					     "/dev/fd/0/.",
					     "/proc/self/fd/../cwd",
					     "/proc/self/fd/0/../../cwd",
					     "/proc/self/fd/99999999999",
					     "/proc/self/fd/",
					     "/proc/thread-self/cwd" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect_lt(by_name(names[i], 02755), 0, "%s", names[i]);
	cr_expect_eq(mode_of("."), 0700);
	cr_expect_eq(mode_of("d"), 0700);
}

/* A name at the end of what is mapped is read as far as that. */
Test(directory_mode, a_name_at_the_end_of_memory)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert(pages != MAP_FAILED && munmap(pages + 4096, 4096) == 0);
	memcpy(pages + 4094, "d", 2);
	cr_expect_eq(by_name(pages + 4094, 02755), 0);
	cr_expect_eq(mode_of("d"), 02755);
}
