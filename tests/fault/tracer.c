/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS                                                                                    \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |   \
	 PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL)

/* The stewards, which are clones without a signal, are followed for who wants that. */
static long options(void)
{
	return getenv("MSP_TRACE_STEWARDS") ? OPTIONS | PTRACE_O_TRACECLONE : OPTIONS;
}

pid_t tracer_parent(pid_t pid)
{
	char path[32];
	int parent = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%*d (%*[^)]) %*c %d", &parent) != 1)
		parent = 0;
	(void)fclose(file);
	return parent;
}

pid_t tracer_child(pid_t pid)
{
	unsigned long child = 0;

	return ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child) == 0 ? (pid_t)child : 0;
}

/* The new stack begins with argc, then come argv, the environment, each with a NULL after it, and
 * pairs of the auxiliary vector. */
void tracer_hide_vdso(pid_t pid)
{
	struct user_regs_struct registers;
	unsigned long at;
	long word;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &registers) != 0)
		return;
	at = registers.rsp + sizeof(word);
	for (int list = 0; list < 2; list++) {
		do {
			word = ptrace(PTRACE_PEEKDATA, pid, at, NULL);
			at += sizeof(word);
		} while (word != 0 && word != -1);
	}
	do {
		word = ptrace(PTRACE_PEEKDATA, pid, at, NULL);
		if (word == AT_SYSINFO_EHDR)
			(void)ptrace(PTRACE_POKEDATA, pid, at, (long)AT_IGNORE);
		at += 2 * sizeof(word);
	} while (word != AT_NULL && word != -1);
}

static enum tracer_stop kind_of(int status)
{
	switch (status >> 16) {
	case PTRACE_EVENT_EXEC:
		return TRACER_EXEC;
	case PTRACE_EVENT_EXIT:
		return TRACER_EXIT;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		return TRACER_FORK;
	case 0:
		break;
	default:
		return TRACER_OTHER;
	}
	if (WSTOPSIG(status) == (SIGTRAP | 0x80))
		return TRACER_CALL;
	return WSTOPSIG(status) == SIGSTOP ? TRACER_NEW : TRACER_OTHER;
}

/* The signal to hand on, 0 for none: the stops of a tracer are none of the process's. */
static int signal_of(int status)
{
	const int number = WSTOPSIG(status);

	return kind_of(status) == TRACER_OTHER && status >> 16 == 0 && number != SIGTRAP ? number
											 : 0;
}

static pid_t start(char **command)
{
	const pid_t pid = fork();

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(70);
		(void)raise(SIGSTOP);
		(void)execv(command[0], command);
		_exit(70);
	}
	return pid;
}

int tracer_run(char **command, tracer_handler *handler)
{
	const pid_t first = start(command);
	int code = 70;
	int status;
	pid_t pid;

	if (first < 0 || waitpid(first, &status, 0) != first || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, first, NULL, options()) != 0) {
		(void)fprintf(stderr, "cannot trace: %s\n", strerror(errno));
		return 70;
	}
	(void)ptrace(handler(first, TRACER_NEW) ? PTRACE_SYSCALL : PTRACE_CONT, first, NULL, NULL);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status)) {
			const bool wants_calls = handler(pid, kind_of(status));

			/* A process that is killed meanwhile is seen again as ended. */
			(void)ptrace(wants_calls ? PTRACE_SYSCALL : PTRACE_CONT, pid, NULL,
				     (long)signal_of(status));
		} else if (pid == first) {
			code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
	}
	return code;
}
