/* SPDX-License-Identifier: Apache-2.0 */
#include "isolated.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/identity.h"
#include "common/fd.h"

int isolated_fail(const char *file, int line, const char *condition)
{
	char text[512];
	const int size = snprintf(text, sizeof(text), "%s:%d: not so: %s (errno: %s)\n", file, line,
				  condition, strerror(errno));

	(void)!write(STDERR_FILENO, text, (size_t)size); /* the result tells too */
	return ACT_FAILED;
}

static int code_of(pid_t pid)
{
	int status = -1;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return ACT_UNPREPARED;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Nothing may be done that would change the machine: first the namespaces, then the act. */
static int enter(int namespaces)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();

	if (unshare(namespaces) != 0)
		return -errno;
	return identity_map("/proc", false, uid, uid, gid);
}

static int run(int namespaces, int (*act)(void *), void *argument)
{
	pid_t pid;

	if (enter(namespaces) != 0)
		return ACT_UNPREPARED;
	if (!(namespaces & CLONE_NEWPID))
		return act(argument);
	pid = fork();
	if (pid == 0)
		_exit(act(argument));
	return code_of(pid);
}

int isolated_run(int namespaces, int (*act)(void *), void *argument)
{
	const pid_t pid = fork();

	if (pid == 0)
		_exit(run(CLONE_NEWUSER | namespaces, act, argument));
	return code_of(pid);
}

void isolated_test(int namespaces, int (*act)(void *), void *argument)
{
	const int code = isolated_run(namespaces, act, argument);

	if (code == ACT_UNPREPARED)
		cr_skip("no user namespaces here");
	cr_assert_eq(code, ACT_PASSED, "%d; stderr says what was wrong", code);
}
