/* SPDX-License-Identifier: Apache-2.0 */
#include "helper.h"

#include <errno.h>
#include <signal.h>

#include "common/kernel.h"
#include "common/limits.h"
#include "identity.h"
#include "init.h"

/* The helper finds its standard streams at 0 and 1, the operator's log at 2, its channel at 3; the
 * image stays at 4 until the exec closes it. All numbers are above 4 first, so that none is lost
 * to another's move. */
static int place_descriptors(const int fds[4])
{
	static const int places[4] = { 4, 0, 1, 3 };
	int moved[4];

	for (int i = 0; i < 4; i++) {
		moved[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 5);
		if (moved[i] < 0)
			return -errno;
	}
	for (int i = 0; i < 4; i++) {
		if (dup3(moved[i], places[i], i == 0 ? O_CLOEXEC : 0) < 0)
			return -errno;
	}
	return kernel_close_range(5, ~0U) == 0 ? 0 : -errno;
}

void helper_run(const struct factory *factory, uint32_t profile, const int fds[4])
{
	static char name[] = "msp-broker";
	char *const arguments[] = { name, NULL };
	char *const environment[] = { NULL };
	uint32_t stage;

	/* The supervisor sees the helper's channel end: a failure here needs no words. */
	if (signal(SIGCHLD, SIG_DFL) == SIG_ERR || setsid() < 0 || place_descriptors(fds) != 0 ||
	    init_isolate(factory, profile, &stage) != 0 || identity_drop(0) != 0 ||
	    identity_protect() != 0)
		_exit(MSP_EXIT_SANDBOX);
	(void)syscall(SYS_execveat, 4, "", arguments, environment, AT_EMPTY_PATH);
	_exit(MSP_EXIT_SANDBOX);
}
