/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/cgroup.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];

Test(cgroup, own_line)
{
	cr_expect(cgroup_parse_own("0::/user.slice/x.scope\n", path, sizeof(path)));
	cr_expect_str_eq(path, "/user.slice/x.scope");
	cr_expect(cgroup_parse_own("12:cpu:/a\n1:name=systemd:/b\n0::/\n", path, sizeof(path)));
	cr_expect_str_eq(path, "/");
	cr_expect(cgroup_parse_own("0::/x", path, sizeof(path)));
	cr_expect_str_eq(path, "/x");
}

Test(cgroup, no_own_line)
{
	cr_expect_not(cgroup_parse_own("", path, sizeof(path)));
	cr_expect_not(cgroup_parse_own("1:cpu:/a\n", path, sizeof(path)));
	cr_expect_not(cgroup_parse_own("10::/a\n", path, sizeof(path)));
	cr_expect_not(cgroup_parse_own("0::/../elsewhere\n", path, sizeof(path)),
		      "outside of our namespace");
	cr_expect_not(cgroup_parse_own("0::/a-path-that-is-longer-than-the-room-that-there-is-for-"
				       "it-in-this-test\n",
				       path, sizeof(path)));
}

Test(cgroup, controllers)
{
	cr_expect_eq(
		cgroup_parse_controllers("cpuset cpu io memory hugetlb pids rdma misc"),
		(uint32_t)(CGROUP_CPU | CGROUP_IO | CGROUP_MEMORY | CGROUP_PIDS | CGROUP_CPUSET));
	cr_expect_eq(cgroup_parse_controllers("memory pids\n"),
		     (uint32_t)(CGROUP_MEMORY | CGROUP_PIDS));
	cr_expect_eq(cgroup_parse_controllers("cpusets cpux xpids"), 0U);
	cr_expect_eq(cgroup_parse_controllers(""), 0U);
}

Test(cgroup, controllers_have_names)
{
	char text[64];

	cgroup_list_controllers(CGROUP_REQUIRED, text, sizeof(text));
	cr_expect_str_eq(text, "cpu, memory, pids");
	cgroup_list_controllers(CGROUP_IO | CGROUP_CPUSET, text, sizeof(text));
	cr_expect_str_eq(text, "io, cpuset");
	cgroup_list_controllers(0, text, sizeof(text));
	cr_expect_str_eq(text, "");
}

Test(cgroup, every_problem_has_words)
{
	for (int problem = CGROUP_USABLE; problem <= CGROUP_FAILED; problem++) {
		struct cgroup_state state = { .problem = (enum cgroup_problem)problem,
					      .directory = -1,
					      .error = 16,
					      .path = "/sys/fs/cgroup/x",
					      .controllers = "hugetlb" };
		char text[CGROUP_TEXT_MAX] = "";
		char fix[CGROUP_TEXT_MAX] = "";

		cgroup_describe(&state, text);
		cgroup_describe_fix(&state, fix);
		cr_expect_gt(strlen(text), 10U);
		cr_expect(strstr(fix, "'limits: fallback'"));
	}
}

Test(cgroup, missing_controllers_are_named)
{
	struct cgroup_state state = { .problem = CGROUP_CONTROLLERS,
				      .directory = -1,
				      .path = "/sys/fs/cgroup",
				      .controllers = "memory hugetlb" };
	char text[CGROUP_TEXT_MAX];

	cgroup_describe(&state, text);
	cr_expect(strstr(text, "\"memory hugetlb\""));
	cr_expect(strstr(text, "missing: cpu, pids"));
}

Test(cgroup, examining_changes_nothing_and_leaks_nothing)
{
	struct cgroup_state state = cgroup_examine();

	cr_expect_leq(state.problem, CGROUP_SHARED);
	if (state.directory >= 0)
		cr_expect_eq(close(state.directory), 0);
}

static pid_t start_child(bool is_leader)
{
	int ends[2];
	char byte;
	pid_t pid;

	cr_assert_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		if (is_leader)
			(void)setsid();
		(void)close(ends[1]);
		(void)close(ends[0]);
		for (;;)
			(void)pause();
	}
	(void)close(ends[1]);
	cr_assert_eq(read(ends[0], &byte, 1), 0);
	(void)close(ends[0]);
	return pid;
}

static void write_text(int dir, const char *name, const char *text)
{
	const int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	cr_assert_eq(close(fd), 0);
}

/* Plain directories and files: the kernel's do the same to whoever may write to them. */
Test(cgroup, the_remover_stays_and_nobody_else)
{
	const pid_t remover = start_child(true);
	const pid_t other = start_child(false);
	struct cgroup_home home = { .name = "msp.1", .directory = -1 };
	char place[] = "/tmp/msp-cgroup-XXXXXX";
	char text[64], found[64] = "";
	int parent;

	cr_assert_not_null(mkdtemp(place));
	parent = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	home.parent = dup(parent);
	cr_assert_eq(mkdirat(parent, "msp.1", 0700), 0);
	home.own = openat(parent, "msp.1", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(mkdirat(home.own, "supervisor", 0700), 0);
	(void)snprintf(text, sizeof(text), "%d\n%d\n", (int)remover, (int)other);
	write_text(home.own, "supervisor/cgroup.procs", text);
	write_text(parent, "cgroup.procs", "");
	cgroup_leave(&home);
	(void)snprintf(text, sizeof(text), "%d", (int)remover);
	home.own = openat(parent, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	cr_expect_gt(read(home.own, found, sizeof(found) - 1), 0);
	cr_expect_str_eq(found, text);
	cr_assert_eq(close(home.own), 0);
	(void)kill(remover, SIGKILL);
	(void)kill(other, SIGKILL);
	cr_expect_eq(waitpid(remover, NULL, 0), remover);
	cr_expect_eq(waitpid(other, NULL, 0), other);
	cr_expect_eq(unlinkat(parent, "msp.1/supervisor/cgroup.procs", 0), 0);
	cr_expect_eq(unlinkat(parent, "msp.1/supervisor", AT_REMOVEDIR), 0);
	cr_expect_eq(unlinkat(parent, "msp.1", AT_REMOVEDIR), 0);
	cr_expect_eq(unlinkat(parent, "cgroup.procs", 0), 0);
	cr_expect_eq(rmdir(place), 0);
	cr_expect_eq(close(parent), 0);
}
