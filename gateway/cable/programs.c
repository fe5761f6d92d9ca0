/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/programs.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc_gateway.h"
#include "common/kernel.h"
#include "stewards/base/child.h"

#define IMAGE_FD (GATEWAY_FD_CHANNEL + PROGRAM_FDS_MAX)

static void become_program(char *name, int image, const int *given, uint32_t count)
{
	int fds[PROGRAM_FDS_MAX + 1] = { image }, places[PROGRAM_FDS_MAX + 1] = { IMAGE_FD };
	char *const arguments[] = { name, NULL };
	char *const environment[] = { NULL };

	for (uint32_t i = 0; i < count; i++) {
		fds[1 + i] = given[i];
		places[1 + i] = GATEWAY_FD_CHANNEL + (int)i;
	}
	/* A parent that has ended already has closed its end of the channel. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
	    fd_place(fds, places, 1 + count, (1U << (1 + count)) - 2) == 0)
		(void)kernel_execute(IMAGE_FD, arguments, environment);
	_exit(MSP_EXIT_SOFTWARE); /* its peers see the end */
}

int program_start(char *name, int *image, const int *fds, uint32_t count, int *ret_pidfd)
{
	const int status = child_fork(ret_pidfd);

	if (status == 0)
		become_program(name, *image, fds, count);
	fd_close(image);
	return status < 0 ? status : 0;
}
