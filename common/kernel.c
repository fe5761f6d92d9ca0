/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kernel.h"

#include <errno.h>

int kernel_openat2(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags, .resolve = resolve };
	int fd;
	int tries = 0;

	do
		fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && ++tries < KERNEL_OPEN_TRIES);
	return fd;
}
