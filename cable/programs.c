/* SPDX-License-Identifier: Apache-2.0 */
#include "cable/programs.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc_gateway.h"
#include "common/kernel.h"
#include "steward/child.h"

#define IMAGE_FD GATEWAY_FD_END
#define OPEN_AFTER_EXEC 0x3U /* the first two */

static void become_program(char *name, int image, int channel, int peer)
{
	static const int places[] = { GATEWAY_FD_CHANNEL, GATEWAY_FD_PEER, IMAGE_FD };
	const int fds[] = { channel, peer, image };
	char *const arguments[] = { name, NULL };
	char *const environment[] = { NULL };

	/* A parent that has ended already has closed its end of the channel. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
	    fd_place(fds, places, 3, OPEN_AFTER_EXEC) == 0)
		(void)kernel_execute(IMAGE_FD, arguments, environment);
	_exit(MSP_EXIT_SOFTWARE); /* its peers see the end */
}

int program_start(char *name, int *image, int channel, int peer, int *ret_pidfd)
{
	const int status = child_fork(ret_pidfd);

	if (status == 0)
		become_program(name, *image, channel, peer);
	fd_close(image);
	return status < 0 ? status : 0;
}
