/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/nonblocking.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

Test(nonblocking, is_set_and_cleared)
{
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(fd_set_nonblocking(fds[0], true), 0);
	cr_assert(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
	cr_assert_eq(fd_set_nonblocking(fds[0], false), 0);
	cr_assert_not(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
	(void)close(fds[0]);
	cr_assert_eq(fd_set_nonblocking(fds[0], true), -EBADF);
	(void)close(fds[1]);
}
