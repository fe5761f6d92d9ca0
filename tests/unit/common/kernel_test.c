/* SPDX-License-Identifier: Apache-2.0
 *
 * A path that the kernel could not resolve while something else was mounted is asked for again, and
 * not for ever. The kernel's answers are the test's.
 */
#include "common/kernel.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

static int error;
static int failures; /* how many calls fail, from now on */
static int calls;
static struct open_how last;

long __real_syscall(long number, long a, long b, long c, long d);
long __wrap_syscall(long number, ...);

/* What is tested makes no other call in this way than openat2, with four arguments. */
long __wrap_syscall(long number, ...)
{
	long given[4];
	va_list arguments;

	va_start(arguments, number);
	for (int i = 0; i < 4; i++)
		given[i] = va_arg(arguments, long);
	va_end(arguments);
	memcpy(&last, (const void *)given[2], sizeof(last));
	if (calls++ < failures) {
		errno = error;
		return -1;
	}
	return __real_syscall(number, given[0], given[1], given[2], given[3]);
}

static int open_with(int number, int count)
{
	error = number;
	failures = count;
	calls = 0;
	return kernel_openat2(AT_FDCWD, "/usr/../etc", O_PATH | O_CLOEXEC, RESOLVE_NO_MAGICLINKS);
}

Test(kernel, openat2_is_asked_again)
{
	const int counts[] = { 0, 1, KERNEL_OPEN_TRIES - 1 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		const int fd = open_with(EAGAIN, counts[i]);

		cr_assert_geq(fd, 0, "after %d failures", counts[i]);
		cr_assert_eq(calls, counts[i] + 1);
		cr_assert_eq(last.resolve, RESOLVE_NO_MAGICLINKS, "the last call asks for no less");
		cr_assert_eq(last.flags, O_PATH | O_CLOEXEC);
		cr_assert_eq(close(fd), 0);
	}
}

Test(kernel, openat2_is_not_asked_for_ever)
{
	cr_assert_eq(open_with(EAGAIN, KERNEL_OPEN_TRIES), -1);
	cr_assert_eq(errno, EAGAIN);
	cr_assert_eq(calls, KERNEL_OPEN_TRIES);
}

Test(kernel, other_errors_of_openat2_are_final)
{
	const int errors[] = { EXDEV, ELOOP, ENOENT, EINTR, ENOSYS };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		cr_assert_eq(open_with(errors[i], 1), -1);
		cr_assert_eq(errno, errors[i]);
		cr_assert_eq(calls, 1);
	}
}
