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

#include "ask/enabled.h"
#include "commands/agent.h"
#include "common/log.h"
#include "common/text/format.h"
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

pid_t agent_begin_bridge(const struct agent_run *run)
{
	const struct attach_options *attach = &run->options->execute.attach;
	pid_t pid;
	int null;

	if (!run->options->is_login || !run->row->login_port)
		return 0;
	if (attach->is_standalone || (!attach->socket && service_is_absent()))
		everywhere_note("the answer of the login comes to port %u of this machine, which "
				"leads into the sandbox through the user's service alone: 'msp "
				"setup' starts one. A login by a code needs none",
				run->row->login_port);
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
