/* SPDX-License-Identifier: Apache-2.0
 *
 * A frame has the directories of a tree that everybody may use, and follows when those change.
 */
#include "policy/packages/frames.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/msp-frames-XXXXXX";
static char source[64], frame[IPC_PATH_MAX];

static const char *in(const char *top, const char *path)
{
	static char full[IPC_PATH_MAX + 64];

	(void)snprintf(full, sizeof(full), "%s/%s", top, path);
	return full;
}

static void make_directory(const char *path, mode_t mode)
{
	cr_assert_eq(mkdir(in(source, path), 0755), 0, "%s", path);
	cr_assert_eq(chmod(in(source, path), mode), 0);
}

static bool has(const char *path)
{
	struct stat status;

	return lstat(in(frame, path), &status) == 0;
}

/* As a process of its own does: one brings each frame up to date once. */
static void make_frame(void)
{
	const pid_t child = fork();
	int status;

	if (child == 0)
		_exit(frames_make(folder, source, frame) == 0 ? 0 : 1);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	cr_assert_eq(frames_make(folder, source, frame), 0);
}

static void begin(void)
{
	cr_assert_not_null(mkdtemp(folder));
	(void)snprintf(source, sizeof(source), "%s/tree", folder);
	cr_assert_eq(mkdir(source, 0755), 0);
	make_directory("lib", 0755);
	make_directory("lib/deep", 0755);
	make_directory("shut", 0700);
	cr_assert_eq(symlink("lib", in(source, "link")), 0);
	cr_assert_eq(mknod(in(source, "lib/file"), S_IFREG | 0644, 0), 0);
}

static void end(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(frames, .init = begin, .fini = end);

Test(frames, directories_alone_are_made)
{
	make_frame();
	cr_expect(has("lib") && has("lib/deep"));
	cr_expect_not(has("lib/file") || has("link") || has("shut"));
}

Test(frames, one_follows_its_tree)
{
	const pid_t child = fork();
	int status;

	if (child == 0)
		_exit(frames_make(folder, source, frame) == 0 ? 0 : 1);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(rmdir(in(source, "lib/deep")), 0);
	cr_assert_eq(symlink("/", in(source, "lib/deep")), 0);
	make_directory("lib/new", 0755);
	make_frame();
	cr_expect(has("lib/new"));
	cr_expect_not(has("lib/deep"), "it would hide the link");
}

Test(frames, an_empty_one_has_nothing)
{
	struct stat status;

	cr_assert_eq(frames_make(folder, NULL, frame), 0);
	cr_assert_eq(stat(frame, &status), 0);
	cr_expect_eq(status.st_nlink, 2U);
}
