/* SPDX-License-Identifier: Apache-2.0
 *
 * git's data outside of a workspace: the records of each layout, and of what leads elsewhere.
 */
#include "launcher/git/data.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[64];

static const char *in(const char *name)
{
	static char paths[8][256];
	static int next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

/* With the directories on the way. In the text "%" stands for the folder. */
static void put(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s", in(name));
	for (char *at = path + strlen(top) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(path, 0700); /* it may be there */
		*at = '/';
	}
	file = fopen(path, "w");
	cr_assert_not_null(file, "%s", path);
	for (; *text; text++) {
		if (*text == '%')
			(void)fputs(top, file);
		else
			(void)fputc(*text, file);
	}
	cr_assert_eq(fclose(file), 0);
}

static void begin(void)
{
	(void)stpcpy(top, "/tmp/msp-git-data-XXXXXX");
	cr_assert_not_null(mkdtemp(top));
	cr_assert_eq(setenv("HOME", in("home"), 1), 0);
	put("main/.git/HEAD", "ref: refs/heads/main\n");
	put("main/.git/config", "[core]\n\tbare = false\n");
	put("main/.git/objects/x", "");
	put("main/.git/refs/x", "");
	put("main/.git/worktrees/wt/commondir", "../..\n");
	put("main/.git/worktrees/wt/gitdir", "%/wt/.git\n");
	put("wt/.git", "gitdir: %/main/.git/worktrees/wt\n");
}

static void end(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -r %s", top);
	cr_assert_eq(system(command), 0);
}

TestSuite(git_data, .init = begin, .fini = end);

/* Expect the state, and of what is shown also the pointer and the path. */
static void expect(const char *workspace, char state, const char *pointer, const char *path)
{
	char record[GIT_DATA_RECORD_MAX] = "", expected[GIT_DATA_RECORD_MAX] = "";

	(void)git_data_record(in(workspace), record);
	if (state == '\0') {
		cr_expect_str_eq(record, "");
		return;
	}
	cr_expect_eq(record[strlen(GIT_DATA_MARK)], state, "%s: %s", workspace, record);
	(void)snprintf(expected, sizeof(expected), GIT_DATA_MARK "%c%s\n%s", state, pointer,
		       in(path));
	cr_expect_str_eq(record, expected);
}

Test(git_data, a_worktree_that_the_data_names)
{
	expect("wt", GIT_DATA_SHOWN, "worktrees/wt", "main/.git");
	put("main/.git/worktrees/wt/gitdir", "../../../../wt/.git\n");
	expect("wt", GIT_DATA_SHOWN, "worktrees/wt", "main/.git");
	put("main/.git/worktrees/wt/gitdir", "%/other/.git\n");
	expect("wt", GIT_DATA_UNNAMED, "worktrees/wt", "main/.git");
}

Test(git_data, a_worktree_of_another_directory)
{
	put("ws/.git", "gitdir: %/main/.git/worktrees/wt\n");
	expect("ws", GIT_DATA_UNNAMED, "worktrees/wt", "main/.git");
	cr_assert_eq(mkdir(in("two"), 0700), 0);
	cr_assert_eq(symlink("../wt/.git", in("two/.git")), 0);
	expect("two", '\0', "", "");
}

Test(git_data, a_commondir_elsewhere_proves_nothing)
{
	put("fake/worktrees/x/gitdir", "%/ws/.git\n");
	put("fake/worktrees/x/commondir", "%/main/.git\n");
	put("ws/.git", "gitdir: %/fake/worktrees/x\n");
	expect("ws", GIT_DATA_UNFIT, "", "main/.git");
}

Test(git_data, separate_data_names_the_workspace_in_its_configuration)
{
	put("ws/.git", "gitdir: ../main/.git\n");
	expect("ws", GIT_DATA_UNNAMED, "", "main/.git");
	put("main/.git/config", "[other]\n\tworkspace = %/ws\n");
	expect("ws", GIT_DATA_UNNAMED, "", "main/.git");
	put("main/.git/config", "[msp]\n\tworkspace = %/w\n\tworkspace = %/ws/x\n");
	expect("ws", GIT_DATA_UNNAMED, "", "main/.git");
	put("main/.git/config", "[msp]\n\tworkspace = /\n\tworkspace = %/ws\n");
	expect("ws", GIT_DATA_SHOWN, "", "main/.git");
	cr_assert_eq(mkdir(in("link"), 0700), 0);
	cr_assert_eq(symlink("../main/.git", in("link/.git")), 0);
	expect("link", GIT_DATA_UNNAMED, "", "main/.git");
	put("main/.git/config", "[msp]\n\tworkspace = %/link\n");
	expect("link", GIT_DATA_SHOWN, "", "main/.git");
}

Test(git_data, a_submodule_needs_its_superproject)
{
	put("ws/.git", "gitdir: ../main/.git\n");
	put("main/.git/config", "[core]\n\tworktree = ../../ws\n[msp]\n\tworkspace = %/ws\n");
	expect("ws", GIT_DATA_UNFIT, "", "main/.git");
}

Test(git_data, borrowed_objects)
{
	put("ws/.git/objects/info/alternates", "%/main/.git/objects\n");
	expect("ws", GIT_DATA_UNNAMED, GIT_DATA_ALTERNATES, "main/.git");
	put("main/.git/config", "[msp]\n\tworkspace = %/ws\n");
	expect("ws", GIT_DATA_SHOWN, GIT_DATA_ALTERNATES, "main/.git/objects");
	put("ws/.git/objects/info/alternates", "../../../main/.git/objects\n");
	expect("ws", GIT_DATA_SHOWN, GIT_DATA_ALTERNATES, "main/.git/objects");
	put("main/.git/objects/info/alternates", "/x\n");
	expect("ws", GIT_DATA_UNFIT, GIT_DATA_ALTERNATES, "main/.git/objects");
	put("ws/.git/objects/info/alternates", "%/main\n");
	expect("ws", GIT_DATA_UNFIT, GIT_DATA_ALTERNATES, "main");
}

Test(git_data, what_lies_in_the_workspace_or_nowhere)
{
	put("ws/data/HEAD", "x");
	put("ws/.git", "gitdir: data\n");
	expect("ws", '\0', "", "");
	put("ws/.git", "gitdir: missing\n");
	expect("ws", '\0', "", "");
	put("ws/.git", "not a file of git's\n");
	expect("ws", '\0', "", "");
	put("ws/.git", "gitdir:\n");
	expect("ws", '\0', "", "");
	put("plain/file", "");
	expect("plain", '\0', "", "");
	expect("main", '\0', "", "");
}

Test(git_data, a_part_of_a_repository)
{
	put("main/pkg/a/file", "");
	expect("main/pkg/a", GIT_DATA_ABOVE, "", "main");
	put("home/.git/HEAD", "x");
	put("home/inner/file", "");
	expect("home/inner", '\0', "", "");
}
