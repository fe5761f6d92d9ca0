/* SPDX-License-Identifier: Apache-2.0 */
#include "show/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"

/* Let a process group have the keys: Ctrl-C in the pager is not for msp and its supervisor. */
static void give_terminal(pid_t group)
{
	sigset_t stop;
	sigset_t before;

	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTTOU); /* it would stop whoever does not have them */
	(void)sigprocmask(SIG_BLOCK, &stop, &before);
	(void)tcsetpgrp(STDIN_FILENO, group); /* else the pager is used without keys */
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

static void run_pager(int input)
{
	const char *pager = getenv("PAGER");
	sigset_t none;

	(void)setpgid(0, 0); /* the parent does the same: whoever comes first */
	give_terminal(getpid());
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setenv("LESS", "FRX", 0); /* as git does: a short text needs no key */
	if (dup2(input, STDIN_FILENO) == STDIN_FILENO)
		(void)execl("/bin/sh", "sh", "-c", pager && pager[0] ? pager : "less",
			    (char *)NULL);
	_exit(127);
}

bool pager_open(struct pager *pager)
{
	int ends[2];

	(void)fflush(stdout);
	pager->output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (pager->output < 0 || pipe2(ends, O_CLOEXEC) != 0) {
		fd_close(&pager->output);
		return false;
	}
	pager->pid = fork();
	if (pager->pid == 0)
		run_pager(ends[0]);
	if (pager->pid > 0) {
		(void)setpgid(pager->pid, pager->pid);
		give_terminal(pager->pid);
		(void)dup2(ends[1], STDOUT_FILENO); /* cannot fail: both are open */
	}
	fd_close_all(ends, 2);
	if (pager->pid < 0)
		fd_close(&pager->output);
	return pager->pid > 0;
}

void pager_close(struct pager *pager)
{
	(void)fflush(stdout); /* a pager that was left early does not want the rest */
	(void)dup2(pager->output, STDOUT_FILENO);
	fd_close(&pager->output);
	while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
		;
	__fpurge(stdout);
	clearerr(stdout);
	give_terminal(getpgrp());
}
