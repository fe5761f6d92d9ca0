/* SPDX-License-Identifier: Apache-2.0 */
#include "common/confine/seccomp.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/kernel.h"

static int load_filter(const struct sock_filter *filter, uint32_t count, unsigned int flags)
{
	/* The kernel copies the program; its struct has no const. */
	union {
		const struct sock_filter *in;
		struct sock_filter *out;
	} pointer = { .in = filter };
	struct sock_fprog program = { .len = (unsigned short)count, .filter = pointer.out };

	if (count == 0 || count > BPF_MAXINSNS)
		return -EINVAL;
	const long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	return result < 0 ? -errno : (int)result;
}

int seccomp_install(const struct sock_filter *filter, uint32_t count)
{
	return load_filter(filter, count, 0);
}

int seccomp_install_observed(const struct sock_filter *filter, uint32_t count)
{
	/* A call that is being answered waits for its answer, and not for signals but deadly ones:
	 * it is refused once, and never EINTR. */
	return load_filter(filter, count,
			   SECCOMP_FILTER_FLAG_NEW_LISTENER |
				   SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
}

/* The kernel's ioctl numbers do not fit into an int, which musl's ioctl() wants. */
static bool ask_listener(int listener, unsigned long request, void *message)
{
	return syscall(SYS_ioctl, listener, request, message) == 0;
}

void seccomp_hasten(int listener)
{
	(void)syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
		      SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

int seccomp_answer(int listener, seccomp_act *act, struct seccomp_notif *ret)
{
	struct seccomp_notif_resp answer = { .error = 0 };

	memset(ret, 0, sizeof(*ret));
	/* There is a count of calls beside the list that poll(2) looks at, and no call leaves it
	 * but by being received: one of the list can be, or its end is known at once (ENOENT). */
	if (!ask_listener(listener, SECCOMP_IOCTL_NOTIF_RECV, ret))
		return 0;
	answer.id = ret->id;
	answer.error = act(ret);
	return ask_listener(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) && answer.error == -EPERM;
}
