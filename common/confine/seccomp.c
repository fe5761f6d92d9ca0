/* SPDX-License-Identifier: Apache-2.0 */
#include "common/confine/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

int seccomp_install(const struct sock_filter *filter, uint32_t count)
{
	/* The kernel copies the program; its struct has no const. */
	union {
		const struct sock_filter *in;
		struct sock_filter *out;
	} pointer = { .in = filter };
	struct sock_fprog program = { .len = (unsigned short)count, .filter = pointer.out };

	if (count == 0 || count > BPF_MAXINSNS)
		return -EINVAL;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
		return -errno;
	return 0;
}
