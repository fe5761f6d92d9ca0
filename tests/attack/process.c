/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that a workload shall not reach, and rights that it shall not get.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PID_END 131072

static int act_kill(char **arguments)
{
	return outcome(kill((pid_t)number_of(arguments), (int)number_of(arguments + 1)));
}

/* Every process that can be named but this one; what survives is for the test to see. */
static int act_kill_all(char **arguments)
{
	const pid_t child = fork();
	int status = 0;

	(void)arguments;
	if (child < 0)
		return UNPREPARED;
	if (child == 0) {
		(void)pause();
		_exit(0);
	}
	if (kill(-1, SIGKILL) != 0)
		return errno;
	if (waitpid(child, &status, 0) != child)
		return UNPREPARED;
	return WIFSIGNALED(status) ? SUCCEEDED : EPERM;
}

/* COUNT children that live at the same time, and no longer than this process. */
static int act_processes(char **arguments)
{
	const long count = number_of(arguments);
	int result = SUCCEEDED;
	int alive[2];
	char byte;

	if (pipe(alive) != 0)
		return UNPREPARED;
	for (long i = 0; i < count && result == SUCCEEDED; i++) {
		const pid_t pid = fork();

		if (pid == 0) {
			(void)close(alive[1]);
			_exit(read(alive[0], &byte, 1) != 0);
		}
		result = outcome(pid);
	}
	return result;
}

/* Any process that is neither this one nor below it, by number. PID 1 is not counted. */
static int act_reach_others(char **arguments)
{
	(void)arguments;
	for (pid_t pid = 2; pid < PID_END; pid++) {
		if (pid != getpid() && pid != getppid() && kill(pid, 0) == 0) {
			(void)printf("process %d\n", (int)pid);
			return SUCCEEDED;
		}
	}
	return ESRCH;
}

/* How often, at most, a program is looked at that executes. */
#define LOOKS_MAX 500

/* A line of a process's status, "" when there is none. */
static void read_status(pid_t pid, const char *key, char *value, size_t room)
{
	char line[256];
	FILE *file;

	(void)snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
	value[0] = '\0';
	file = fopen(line, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)) == 0)
			(void)snprintf(value, room, "%s", line + strlen(key));
	}
	if (file)
		(void)fclose(file);
}

static const char *const capability_sets[] = { "CapInh:\t", "CapPrm:\t", "CapEff:\t", "CapBnd:\t",
					       "CapAmb:\t" };

/* Succeeds when any of the five sets has a bit. */
static int act_capabilities(char **arguments)
{
	int result = EPERM;

	(void)arguments;
	for (size_t i = 0; i < sizeof(capability_sets) / sizeof(capability_sets[0]); i++) {
		char value[64];

		read_status(getpid(), capability_sets[i], value, sizeof(value));
		if (value[0] == '\0')
			return UNPREPARED;
		if (strtoull(value, NULL, 16) != 0) {
			(void)printf("%s%s", capability_sets[i], value);
			result = SUCCEEDED;
		}
	}
	return result;
}

static int act_securebits(char **arguments)
{
	(void)arguments; /* keep-caps is locked: a change of it fails */
	return outcome(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
}

static int act_new_privileges(char **arguments)
{
	(void)arguments;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? EPERM : SUCCEEDED;
}

/* Look whose a program is that executes. Its file descriptors are closed before it gets the ids of
 * its file: only when it waits, or has ended, it has them. */
static void read_ids(pid_t pid, char *value, size_t room)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	char state[64];

	for (int i = 0; i < LOOKS_MAX; i++) {
		read_status(pid, "State:\t", state, sizeof(state));
		read_status(pid, "Uid:\t", value, room);
		if (state[0] == 'S' || state[0] == 'Z')
			return;
		(void)nanosleep(&pause, NULL);
	}
}

/* Start a set-user-ID program that waits for input, and look whose it is. */
static int act_setuid_program(char **arguments)
{
	char *const command[] = { arguments[0], NULL };
	char value[64];
	char *rest;
	unsigned long real;
	int input[2];
	int started[2];
	char byte;
	pid_t pid;

	if (pipe(input) != 0 || pipe2(started, O_CLOEXEC) != 0)
		return UNPREPARED;
	pid = fork();
	if (pid == 0) {
		(void)dup2(input[0], STDIN_FILENO);
		(void)close(input[1]);
		(void)execv(command[0], command);
		(void)!write(started[1], "x", 1);
		_exit(1);
	}
	(void)close(started[1]);
	if (pid < 0 || read(started[0], &byte, 1) != 0)
		return UNPREPARED;
	read_ids(pid, value, sizeof(value));
	(void)kill(pid, SIGKILL);
	(void)close(input[1]);
	(void)waitpid(pid, NULL, 0);
	real = strtoul(value, &rest, 10);
	if (*rest != '\t')
		return UNPREPARED;
	return strtoul(rest, NULL, 10) == real ? EPERM : SUCCEEDED;
}

static int act_setuid(char **arguments)
{
	return outcome(setuid((uid_t)number_of(arguments)));
}

/* Is this process the first of its PID namespace? */
static int act_is_first(char **arguments)
{
	(void)arguments;
	return getpid() == 1 ? SUCCEEDED : ESRCH;
}

/* A core file of a process that dies with SIGSEGV. */
static int act_core(char **arguments)
{
	int status = 0;
	const pid_t pid = fork();

	(void)arguments;
	if (pid < 0)
		return UNPREPARED;
	if (pid == 0) {
		(void)raise(SIGSEGV);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
		return UNPREPARED;
	return WCOREDUMP(status) ? SUCCEEDED : EPERM;
}

static const struct act list[] = {
	{ "kill", act_kill },
	{ "kill-all", act_kill_all },
	{ "processes", act_processes },
	{ "reach-others", act_reach_others },
	{ "capabilities", act_capabilities },
	{ "securebits", act_securebits },
	{ "new-privileges", act_new_privileges },
	{ "setuid-program", act_setuid_program },
	{ "setuid", act_setuid },
	{ "is-first", act_is_first },
	{ "core", act_core },
};

const struct acts process_acts = ACTS(list);
