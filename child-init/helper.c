/* SPDX-License-Identifier: Apache-2.0 */
#include "helper.h"

#include <signal.h>

#include "common/fd.h"
#include "common/ipc/ipc_factory.h"
#include "common/kernel.h"
#include "common/limits.h"
#include "init.h"

/* The image, what the helper finds there, and what tells of its base. */
static const int places[] = { 4, 0, 1, 2, 3, 5 };
#define OPEN_AFTER_EXEC 0x1e

void helper_run(const struct factory *factory, uint32_t profile, const int *fds)
{
	/* By enum helper_kind. */
	static char names[HELPER_KIND_COUNT][sizeof("msp-broker")] = { "msp-broker", "msp-layers" };
	char *const arguments[] = { names[factory->helper], NULL };
	char *const environment[] = { NULL };
	const int all[] = {
		HELPER_FD + (int)factory->helper, fds[0], fds[1], fds[2], fds[3], factory->base[0]
	};
	const bool awaits_base = all[5] >= 0;

	/* The supervisor sees the helper's channel end: a failure here needs no words. */
	if (signal(SIGCHLD, SIG_DFL) == SIG_ERR ||
	    fd_place(all, places, awaits_base ? 6 : 5, OPEN_AFTER_EXEC) != 0 ||
	    init_become_helper(factory, profile, awaits_base ? places[5] : -1) != 0)
		_exit(MSP_EXIT_SANDBOX);
	(void)kernel_execute(places[0], arguments, environment);
	_exit(MSP_EXIT_SANDBOX);
}
