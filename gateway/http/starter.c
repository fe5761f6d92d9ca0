/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/http/parts.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/steps.h"
#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/dispatch.h"
#include "common/ipc/ipc_http.h"
#include "common/log.h"
#include "starter_filter.h"
#include "stewards/base/steward.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct channel cable = { GATEWAY_FD_CHANNEL, IPC_GATEWAY, IPC_SUPERVISOR, IPC_SETUP };
static struct channel_message message;

/* Become the server of a profile, with nothing of the starter's but its code. */
static void become_server(int fds[3], uint32_t profile)
{
	static struct plan plan;
	int error = prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 ? 0 : -errno;

	fd_close(&cable.fd);
	confine_require(error, "ending with the starter");
	error = plan_open_fd(fds[2], &plan);
	if (!error && profile >= plan_profile_count(&plan))
		error = -EINVAL;
	confine_require(error, "reading its profile");
	fd_close(&fds[2]);
	server_run(fds[0], fds[1], &plan, profile);
}

static int handle_begin(void *context, struct channel_message *from)
{
	const uint32_t profile = ipc_body(from, http_begin)->profile;
	int fds[] = { channel_take_fd(from, 0), channel_take_fd(from, 1),
		      channel_take_fd(from, 2) };
	const pid_t pid = fork();

	if (pid == 0)
		become_server(fds, profile);
	fd_close_all(fds, COUNT(fds));
	return pid < 0 ? -errno : 0;
}

void starter_run(void)
{
	static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
		[IPC_TYPE_http_begin] = handle_begin,
	};
	enum ipc_error wrong = IPC_OK;
	int status = 1;

	/* The kernel reaps servers; msp-egress sees their end. */
	confine_require(signal(SIGCHLD, SIG_IGN) == SIG_ERR ? -errno : 0, "setting signals");
	steward_confine(0, seccomp_filter, COUNT(seccomp_filter));
	steward_hear_start(&cable, IPC_TYPE_gateway_start, &message);
	while (status == 1)
		status = dispatch_one(&cable, &message, 0, handlers, NULL, &wrong);
	(void)wait(NULL); /* until all servers have ended, as msp-egress has */
	if (status < 0)
		log_fatal(MSP_EXIT_SOFTWARE, "msp-cable broke the protocol: %s",
			  wrong ? ipc_error_text(wrong) : errno_text(-status));
}
