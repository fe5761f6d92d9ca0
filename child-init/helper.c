/* SPDX-License-Identifier: Apache-2.0 */
#include "helper.h"

#include <errno.h>
#include <signal.h>

#include "common/confine/capabilities.h"
#include "common/fd.h"
#include "common/kernel.h"
#include "common/limits.h"
#include "init.h"

static const int places[] = { 4, 0, 1, 2, 3 };
#define OPEN_AFTER_EXEC 0x1e

void helper_run(const struct factory *factory, uint32_t profile, const int *fds)
{
	/* By enum helper_kind. */
	static char names[HELPER_KIND_COUNT][sizeof("msp-broker")] = { "msp-broker", "msp-layers" };
	char *const arguments[] = { names[factory->helper], NULL };
	char *const environment[] = { NULL };
	uint32_t stage;

	/* The supervisor sees the helper's channel end: a failure here needs no words. */
	if (signal(SIGCHLD, SIG_DFL) == SIG_ERR || fd_place(fds, places, 5, OPEN_AFTER_EXEC) != 0 ||
	    init_isolate(factory, profile, &stage) != 0 || capabilities_drop(0) != 0 ||
	    init_protect() != 0)
		_exit(MSP_EXIT_SANDBOX);
	(void)syscall(SYS_execveat, places[0], "", arguments, environment, AT_EMPTY_PATH);
	_exit(MSP_EXIT_SANDBOX);
}
