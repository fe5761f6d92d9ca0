/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions of includes, and the order of git's files. tests/integration/persistent_cli.py
 * compares with git.
 */
#include "launcher/git/user.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/git/home.h"

static char home[64];

static void put_text(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", home, name);
	file = fopen(path, "w");
	cr_assert_not_null(file, "%s", path);
	cr_assert_geq(fputs(text, file), 0);
	cr_assert_eq(fclose(file), 0);
}

static void begin(void)
{
	char path[128];

	(void)stpcpy(home, "/tmp/msp-git-user-XXXXXX");
	cr_assert_not_null(mkdtemp(home));
	(void)snprintf(path, sizeof(path), "%s/proj", home);
	cr_assert_eq(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/proj/.git", home);
	cr_assert_eq(mkdir(path, 0700), 0);
	cr_assert_eq(setenv("HOME", home, 1), 0);
	cr_assert_eq(setenv("GIT_CONFIG_NOSYSTEM", "1", 1), 0);
	cr_assert_eq(unsetenv("GIT_CONFIG_GLOBAL"), 0);
	cr_assert_eq(unsetenv("XDG_CONFIG_HOME"), 0);
}

static void end(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -r %s", home);
	cr_assert_eq(system(command), 0);
}

/* The name for the repository in the home's folder `proj`; empty: none. */
static const char *name_for(const char *config)
{
	static char text[GIT_USER_MAX];
	char workspace[128];

	put_text(".gitconfig", config);
	(void)snprintf(workspace, sizeof(workspace), "%s/proj", home);
	return git_user_read(workspace, GIT_USER_NAME, text) ? text : "";
}

Test(git_user, conditions_as_git_has_them)
{
	static const struct {
		const char *condition;
		int holds;
	} rows[] = {
		{ "gitdir:/w/p/.git", 1 }, { "gitdir:/w/", 1 },       { "gitdir:/w", 0 },
		{ "gitdir:p/", 1 },        { "gitdir:w/p/", 1 },      { "gitdir:p", 0 },
		{ "gitdir:/w/*/.git", 1 }, { "gitdir:/*/.git", 0 },   { "gitdir:/**/.git", 1 },
		{ "gitdir:/W/", 0 },       { "gitdir/i:/W/", 1 },     { "gitdir:./p/", 1 },
		{ "gitdir:~/", 0 },        { "onbranch:main", -1 },   { "hasconfig:x", -1 },
		{ "anything:else", 0 },    { "gitdir:/w/p/.gi?", 1 }, { "gitdir:/w/[pq]/", 1 },
	};

	cr_assert_eq(setenv("HOME", "/home/user", 1), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(git_user_condition(rows[i].condition, "/w/config", "/w/p/.git"),
			     rows[i].holds, "%s", rows[i].condition);
	cr_expect_eq(git_user_condition("gitdir:/w/", "/w/config", ""), 0);
}

Test(git_user, the_last_value_counts)
{
	begin();
	put_text("more", "[user]\nname = More\n");
	cr_expect_str_eq(name_for(""), "");
	cr_expect_str_eq(name_for("[user]\nname = A\nname = B\n"), "B");
	cr_expect_str_eq(name_for("[user]\nname = A\n[include]\npath = more\n"), "More");
	cr_expect_str_eq(name_for("[include]\npath = more\n[user]\nname = A\n"), "A");
	cr_expect_str_eq(name_for("[include]\npath = ~/more\n"), "More");
	cr_expect_str_eq(name_for("[includeIf \"gitdir:proj/\"]\npath = more\n"), "More");
	cr_expect_str_eq(name_for("[user]\nname = A\n[includeIf \"gitdir:other/\"]\npath=more\n"),
			 "A");
	cr_expect_str_eq(name_for("[user \"x\"]\nname = A\n"), "");
	end();
}

Test(git_user, what_is_no_name_is_none)
{
	char text[GIT_USER_MAX + 32] = "[user]\nname = ";

	begin();
	put_text("more", "[user]\nname = More\n");
	put_text("loop", "[include]\npath = loop\n");
	cr_expect_str_eq(name_for("[user]\nname = \"a\\nb\"\n"), "");
	cr_expect_str_eq(name_for("[user]\nname = a\x1b[1m\n"), "");
	cr_expect_str_eq(name_for("[user]\nname = /../../proj\n"), "");
	cr_expect_str_eq(name_for("[include]\npath = loop\n[user]\nname = A\n"), "");
	cr_expect_str_eq(name_for("[user]\nname = A\n[includeIf \"onbranch:x\"]\npath = more\n"),
			 "");
	cr_expect_str_eq(name_for("[user]\nname = A\n[includeIf \"onbranch:x\"]\npath = none\n"),
			 "A");
	memset(text + strlen(text), 'x', GIT_USER_MAX);
	cr_expect_str_eq(name_for(text), "");
	text[strlen(text) - 1] = '\0';
	cr_expect_eq(strlen(name_for(text)), GIT_USER_MAX - 1);
	end();
}

Test(git_user, homes_are_those_of_the_account_files)
{
	home_set_own("/home/of-ours");
	cr_expect_str_eq(home_listed(NULL), "/home/of-ours");
	home_set_own("");
	cr_expect_null(home_listed(NULL));
	cr_expect_str_eq(home_listed("root"), "/root");
	cr_expect_null(home_listed("nobody-has-this-name"));
}
