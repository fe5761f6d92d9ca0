/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer of an agent's own login: a browser of this machine sends it to a port, on which the
 * agent listens in the sandbox. `msp bridge` leads there, once the agent listens.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands/agent.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/service.h"
#include "launcher/start/bridge_program.h"
#include "options/everywhere.h"

/* The own program, also where it was replaced. */
#define OWN_PROGRAM "/proc/self/exe"

/* Between two trials: a person needs longer for a login. */
#define PAUSE_S 1

/* Become `msp bridge`. The page that sends the browser here is of another site, which a bridge that
 * reads requests would refuse. */
static void become_bridge(const struct agent_run *run)
{
	const char *socket = run->options->execute.attach.socket;
	char port[16], host_port[32], place[IPC_PATH_MAX + 16];

	format_text(port, sizeof(port), "%u", run->row->login_port);
	format_text(host_port, sizeof(host_port), "--host-port=%s", port);
	format_text(place, sizeof(place), "--socket=%s", socket ? socket : "");
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0); /* else it ends with the sandbox */
	(void)execl(OWN_PROGRAM, "msp", "bridge", "--raw", host_port, run->record.id, port,
		    socket ? place : NULL, (char *)NULL);
	_exit(MSP_EXIT_SOFTWARE);
}

/* Try until the agent listens. */
static void keep_bridge(const struct agent_run *run)
{
	int status = 0;

	for (;;) {
		const pid_t pid = fork();

		if (pid == 0)
			become_bridge(run);
		while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != MSP_EXIT_AGAIN)
			_exit(0);
		(void)sleep(PAUSE_S);
	}
}

/* Only a service lets a bridge into a sandbox in which another client's command runs. */
static bool has_service(const struct agent_run *run)
{
	struct service service = { .fd = -1 };
	bool is_there;

	if (!agent_may_use_service(run))
		return false;
	service = service_connect(run->options->execute.attach.socket);
	is_there = service.state == SERVICE_HERE;
	fd_close(&service.fd);
	return is_there;
}

/* Say whether the answer will reach the agent. False: it will not. */
static bool check_way(const struct agent_run *run)
{
	const uint32_t port = run->row->login_port;
	int socket;

	if (!has_service(run)) {
		everywhere_note("the answer of the login comes to port %u of this machine, which "
				"leads into the sandbox through the user's service alone: 'msp "
				"setup' starts one. A login by a code needs none",
				port);
		return false;
	}
	socket = bridge_port_bind(port, true);
	if (socket < 0)
		everywhere_note("the answer of the login cannot come: port %u of this machine: %s. "
				"End what has it, or log in by a code",
				port, errno_text(-socket));
	else
		everywhere_note("the answer of the login comes to port %u of this machine, which "
				"leads to the agent while it logs in",
				port);
	return socket >= 0 && close(socket) == 0;
}

pid_t agent_begin_bridge(const struct agent_run *run)
{
	pid_t pid;
	int null;

	if (!run->options->is_login || !run->row->login_port || !check_way(run))
		return 0;
	pid = fork();
	if (pid != 0)
		return pid > 0 ? pid : 0;
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0); /* else it ends with the sandbox */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd); /* the terminal is the agent's */
	keep_bridge(run);
	return 0;
}

void agent_end_bridge(pid_t bridge)
{
	if (bridge <= 0)
		return;
	(void)kill(bridge, SIGTERM);
	while (waitpid(bridge, NULL, 0) < 0 && errno == EINTR)
		;
}
