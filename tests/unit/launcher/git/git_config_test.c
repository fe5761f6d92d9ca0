/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/git/config.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static char told[4096];

static void note_value(void *context, enum git_key kind, const char *subsection, const char *value)
{
	const size_t used = strlen(told);

	(void)context;
	(void)subsection;
	(void)snprintf(told + used, sizeof(told) - used, "%d<%s>", (int)kind, value);
}

static void note_path(void *context, const char *path)
{
	const size_t used = strlen(told);

	(void)context;
	(void)snprintf(told + used, sizeof(told) - used, "<%s>", path);
}

static const char *values_of(const char *text)
{
	told[0] = '\0';
	cr_assert(git_config_read(text, strlen(text), note_value, NULL));
	return told;
}

static const char *paths_of(enum git_key kind, const char *value)
{
	told[0] = '\0';
	cr_assert(git_config_paths(kind, value, note_path, NULL));
	return told;
}

#define HOOKS "4"
#define COMMAND "2"
#define ALIAS "3"
#define OTHER "1"
#define INCLUDE "6"

Test(git_config, values_as_git_reads_them)
{
	cr_expect_str_eq(values_of("[core]\n\thooksPath = a/b\n"), HOOKS "<a/b>");
	cr_expect_str_eq(values_of("\xef\xbb\xbf[core]hookspath=a/b"), HOOKS "<a/b>");
	cr_expect_str_eq(values_of("[CORE]\r\n  HooksPath =  a b  \r\n"), HOOKS "<a b>");
	cr_expect_str_eq(values_of("[core]\nhooksPath = \" a \" b # c\n"), HOOKS "< a  b>");
	cr_expect_str_eq(values_of("[core]\nhooksPath = \"a;b#c\" ; d\n"), HOOKS "<a;b#c>");
	cr_expect_str_eq(values_of("[core]\nhooksPath = a\\\\b\\\"c\\td\\\n e\n"),
			 HOOKS "<a\\b\"c\td e>");
	cr_expect_str_eq(values_of("[core]\nhooksPath = a\\\r\nb\n"), HOOKS "<ab>");
	cr_expect_str_eq(values_of("[filter \"x]\\\"y\"] clean = a\n[alias] x = !b"),
			 COMMAND "<a>" ALIAS "<!b>");
	cr_expect_str_eq(values_of("[filter.old]\nsmudge=a\n"), COMMAND "<a>");
	cr_expect_str_eq(values_of("[include]\npath=a\n[includeIf \"gitdir:b\"]\npath=c\n"),
			 INCLUDE "<a>" INCLUDE "<c>");
}

Test(git_config, a_line_that_is_none_hides_no_other)
{
	cr_expect_str_eq(values_of("[core\nhooksPath = a\n"), HOOKS "<a>");
	cr_expect_str_eq(values_of("= x\n]\n[core]\n?\nbare\n; hooksPath = b\nhooksPath = a\n"),
			 HOOKS "<a>");
	cr_expect_str_eq(values_of("[core]\nhooksPath = \"a\nhooksPath = b\n"),
			 HOOKS "<a>" HOOKS "<b>");
	cr_expect_str_eq(values_of("[core]\nhooksPath = a\\"), HOOKS "<a\\>");
	cr_expect_str_eq(values_of(""), "");
	cr_expect_str_eq(values_of("[x]\ny = z"), OTHER "<z>");
}

Test(git_config, words_that_may_be_paths)
{
	cr_expect_str_eq(paths_of(GIT_KEY_COMMAND, "less -R"), "");
	cr_expect_str_eq(paths_of(GIT_KEY_COMMAND, "true"), "");
	cr_expect_str_eq(paths_of(GIT_KEY_COMMAND, "./run"), "<./run><./run>");
	cr_expect_str_eq(paths_of(GIT_KEY_COMMAND, "python3 a.py 7 -o"), "<a.py>");
	cr_expect_str_eq(paths_of(GIT_KEY_ALIAS, "!sh -c 'cd x;\"$TOP/y\" --z=w/v -I./u'"),
			 "<!sh -c 'cd x;\"$TOP/y\" --z=w/v -I./u'><cd><x></y><w/v><./u>");
	cr_expect_str_eq(paths_of(GIT_KEY_ALIAS, "$(git rev-parse x)/y `z/w`"),
			 "<$(git rev-parse x)/y `z/w`><rev-parse><x></y><z/w>");
	cr_expect_str_eq(paths_of(GIT_KEY_OTHER, "a b/c"), "<b/c>");
	cr_expect_str_eq(paths_of(GIT_KEY_HOOKS, "a b"), "<a b>");
	cr_expect_str_eq(paths_of(GIT_KEY_HOOKS, ""), "");
	cr_expect_str_eq(paths_of(GIT_KEY_DATA, "a/b"), "");
}
