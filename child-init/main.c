/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * One static program, two roles, no heap, no stdio, one thread.
 *
 * The supervisor executes it from a sealed memfd as the *factory*: with a channel on descriptor 3,
 * no arguments and no environment. The factory is the only process of ours that clones. It moves
 * itself into a user and mount namespace in which the host's tree hangs at /host, builds each
 * profile's read-only base tree once, and then waits for requests (factory.c).
 *
 * A request for a sandbox makes it clone a copy of itself that goes on in the role *init*: PID 1 of
 * that sandbox. It walks the list INIT of steps.def: maps, the namespaces that it was not cloned
 * into, loopback, mounts, new root, no capabilities. A step that fails is reported as {stage,
 * errno} and ends the process; nothing is retried, nothing goes on. Then it serves: each spawn
 * message becomes a workload through the lists STANDBY and RESUME (serve.c reaps and reports).
 * A persistent sandbox has several at once. The files that it keeps are mounted from layers: the
 * supervisor says which, and the init opens them beneath the state directory, which the launcher
 * gave the factory as descriptor 4 (places.c).
 *
 * A request for a helper (msp-broker, msp-layers) passes the list HELPER and ends in an exec of the
 * helper's image (helper.c). The launcher gave the factory these images behind descriptor 4, so
 * that the supervisor, which any file of a client passes through, cannot say what a helper
 * executes.
 *
 * What comes in: messages of the supervisor over the channels, and the sealed plan. No byte of a
 * workload, no path that a workload could change, no text of anybody but the kernel.
 */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "common/confine/relro.h"
#include "common/ipc/ipc_factory.h"
#include "common/kernel.h"
#include "common/limits.h"
#include "factory.h"

/* The caller's terminal is none of a workload's business: no way to it through /dev/tty, and no
 * signals from its keys. A new session would do that too, but would cost every launch its share of
 * the CPU under load (autogroups). */
static int leave_terminal(void)
{
	const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	int error = setpgid(0, 0);

	if (terminal >= 0)
		error |= ioctl(terminal, TIOCNOTTY) | close(terminal);
	return error;
}

/* Close the launcher's descriptors at each exec. Another one would take the place of one that is
 * missing. */
static int keep_given(void)
{
	int error = 0;

	for (int fd = STATE_FD; fd < HELPER_FD + HELPER_KIND_COUNT; fd++)
		error |= fcntl(fd, F_SETFD, FD_CLOEXEC);
	return error;
}

int main(void)
{
	/* Modes in the plan are meant as they are written. */
	(void)umask(0);
	/* Children are reaped by the kernel: the supervisor watches them through pidfds. */
	if (relro_protect() != 0 || keep_given() != 0 ||
	    kernel_close_range(HELPER_FD + HELPER_KIND_COUNT, ~0U) != 0 ||
	    signal(SIGCHLD, SIG_IGN) == SIG_ERR || leave_terminal() != 0)
		return MSP_EXIT_SOFTWARE;
	return factory_run();
}
