/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/signals.h"

#include <errno.h>
#include <stddef.h>
#include <sys/signalfd.h>

int signals_block(bool use_tty, sigset_t *ret_before)
{
	static const int always[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	static const int terminal[] = { SIGWINCH, SIGTSTP, SIGCONT };
	struct sigaction action;
	sigset_t handled;
	sigset_t blocked;
	int fd;

	(void)sigemptyset(&handled);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
		/* A signal that the caller ignores (nohup, a shell's background job) stays ignored.
		 */
		if (sigaction(always[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			(void)sigaddset(&handled, always[i]);
	}
	for (size_t i = 0; use_tty && i < sizeof(terminal) / sizeof(terminal[0]); i++)
		(void)sigaddset(&handled, terminal[i]);
	blocked = handled;
	/* Blocked and never taken: a write without a reader is an error like others. */
	(void)sigaddset(&blocked, SIGPIPE);
	if (sigprocmask(SIG_BLOCK, &blocked, ret_before) != 0)
		return -errno;
	fd = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}
