/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/remove.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

static struct rig rig;
#define TARGET (rig.scene.directories.target)

static bool is_empty(void)
{
	return rig_show(&rig, TARGET)[0] == '\0';
}

Test(remove, takes_all_kinds_and_leaves_the_directory_itself)
{
	rig_begin(&rig, 0);
	put_file(TARGET, "a/b/c/file", "x");
	put_file(TARGET, "new\nline\xff", "x");
	put_file(TARGET, "msp-0/msp-1", "x");
	put_link(TARGET, "a/link", "/etc");
	put_fifo(TARGET, "a/fifo");
	put_whiteout(TARGET, "a/whiteout");
	put_folder(TARGET, "empty");
	cr_assert_eq(rig_do(&rig, job_remove, NULL), 0);
	cr_assert(is_empty());
	cr_assert_eq(remove_tree(TARGET, "not-there"), 0);
	put_file(TARGET, "one/file", "x");
	put_file(TARGET, "two", "x");
	cr_assert_eq(remove_tree(TARGET, "one"), 0);
	cr_assert_eq(remove_tree(TARGET, "two"), 0);
	cr_assert(is_empty());
	rig_end(&rig);
}

/* As overlayfs' work directories have, and as a workload can leave any. */
Test(remove, opens_directories_without_permissions)
{
	static const mode_t modes[] = { 0, 0111, 0444, 0555 };

	rig_begin(&rig, 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "%zu/inner/innermost", i);
		put_file(TARGET, path, "x");
		(void)snprintf(path, sizeof(path), "%zu/inner", i);
		put_mode(TARGET, path, modes[i]);
		(void)snprintf(path, sizeof(path), "%zu", i);
		put_mode(TARGET, path, modes[i]);
	}
	cr_assert_eq(rig_do(&rig, job_remove, NULL), 0);
	cr_assert(is_empty());
	rig_end(&rig);
}

/* What a link in the tree points to stays. */
Test(remove, leaves_the_work_to_a_remover_that_is_there)
{
	int other;

	rig_begin(&rig, 0);
	put_file(TARGET, "a/file", "x");
	other = openat(TARGET, ".", O_RDONLY | O_DIRECTORY);
	cr_assert_eq(flock(other, LOCK_EX), 0);
	cr_assert_eq(rig_do(&rig, job_remove, NULL), 0);
	cr_assert_not(is_empty());
	cr_assert_eq(close(other), 0);
	cr_assert_eq(rig_do(&rig, job_remove, NULL), 0);
	cr_assert(is_empty());
	rig_end(&rig);
}

Test(remove, goes_on_without_the_group_and_the_parent)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		int signal = -1;

		_exit(prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || remove_detach() != 0 ||
		      getsid(0) != getpid() || prctl(PR_GET_PDEATHSIG, &signal) != 0 ||
		      signal != 0 || getpriority(PRIO_PROCESS, 0) != PRIO_MAX - 1 ||
		      raise(SIGTERM) != 0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
}

Test(remove, follows_no_link)
{
	rig_begin(&rig, 0);
	put_file(HOST, "kept/file", "kept");
	put_link(TARGET, "to-folder", "../host/kept");
	put_link(TARGET, "a/to-folder", "../../host/kept");
	cr_assert_eq(faccessat(TARGET, "a/to-folder/file", R_OK, 0), 0, "the link leads there");
	cr_assert_eq(rig_do(&rig, job_remove, NULL), 0);
	cr_assert(is_empty());
	cr_assert_str_eq(rig_show(&rig, HOST), "kept 40755\nkept/file 100644 kept\n");
	rig_end(&rig);
}

/* Deeper than a path or a stack can be, with few descriptors. */
Test(remove, takes_a_tree_of_any_depth_with_few_descriptors)
{
	const struct rlimit few = { 24, 24 };
	int fd;

	rig_begin(&rig, 0);
	fd = dup(TARGET);
	for (int i = 0; i < 20000; i++) {
		int next;

		cr_assert_eq(mkdirat(fd, "directory", 0755), 0);
		put_file(fd, "file", "");
		next = openat(fd, "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		cr_assert(next >= 0);
		(void)close(fd);
		fd = next;
	}
	(void)close(fd);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	cr_assert_eq(rig_do(&rig, job_remove, NULL), 0);
	cr_assert(is_empty());
	rig_end(&rig);
}

Test(remove, takes_a_wide_directory)
{
	rig_begin(&rig, 0);
	for (int i = 0; i < 20000; i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), i % 10 ? "wide/%d" : "wide/%d/in", i);
		put_file(TARGET, path, "");
	}
	cr_assert_eq(rig_do(&rig, job_remove, NULL), 0);
	cr_assert(is_empty());
	rig_end(&rig);
}

/* Nobody can remove what is mounted on. A process of its own, because a thread has no namespaces
 * of its own. */
static int remove_around(const char *stuck)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
	    mount(stuck, stuck, NULL, MS_BIND | MS_REC, NULL) != 0)
		return 77;
	return rig_do(&rig, job_remove, NULL) == 0;
}

Test(remove, goes_on_behind_what_cannot_be_removed)
{
	char stuck[128];
	int status;
	pid_t pid;

	rig_begin(&rig, 0);
	put_file(TARGET, "a/file", "x");
	put_folder(TARGET, "b/stuck");
	put_file(TARGET, "c/file", "x");
	put_file(TARGET, "z", "x");
	(void)snprintf(stuck, sizeof(stuck), "%s/target/b/stuck", rig.scene.root);
	pid = fork();
	if (pid == 0)
		_exit(remove_around(stuck));
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		cr_skip_test("no mounts of one's own here");
	cr_assert_eq(WEXITSTATUS(status), 0);
	cr_assert_str_eq(rig_show(&rig, TARGET), "b 40700\nb/stuck 40700\n");
	cr_assert_eq(rig_do(&rig, job_remove, NULL), 0);
	cr_assert(is_empty());
	rig_end(&rig);
}
