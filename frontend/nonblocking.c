/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/nonblocking.h"

#include <errno.h>
#include <fcntl.h>

int fd_set_nonblocking(int fd, bool on)
{
	const int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	if (fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) != 0)
		return -errno;
	return 0;
}
