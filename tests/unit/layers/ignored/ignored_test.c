/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/ignored/ignored.h"
#include "lib/heap/path_match.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc/ipc_layers.h"
#include "common/records/changes.h"
#include "layers/base/held.h"
#include "layers/base/held_links.h"
#include "scene.h"

Test(ignored, patterns_as_git_reads_them)
{
	static const struct {
		const char *pattern, *path;
		bool matches;
	} rows[] = {
		{ "a", "a", true },        { "a", "b/a", true },
		{ "a", "ab", false },      { "/a", "a", true },
		{ "/a", "b/a", false },    { "a/b", "a/b", true },
		{ "a/b", "c/a/b", false }, { "*.o", "x/y.o", true },
		{ "a/*", "a/b", true },    { "a/*", "a/b/c", false },
		{ "**/b", "a/x/b", true }, { "**/b", "b", true },
		{ "a/**", "a/b/c", true }, { "a/**", "a", false },
		{ "a/**/b", "a/b", true }, { "a/**/b", "a/x/y/b", true },
		{ "[a-c]", "b", true },    { "\\*", "*", true },
		{ "\\*", "x", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(path_match_rule(rows[i].pattern, rows[i].path), rows[i].matches,
			     "%s %s", rows[i].pattern, rows[i].path);
}

Test(ignored, no_pattern_takes_for_ever)
{
	cr_expect_not(path_match_rule("**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b",
				      "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a"));
}

static struct scene scene;
static struct ipc_layers_do ask;
static struct job job = { .ask = &ask, .output = -1 };
static const char *rules_file = ".mspignore";

static void begin(const char *rules, const char *hold, size_t size)
{
	scene_begin(&scene, 1);
	put_file(scene.directories.host, rules_file, rules);
	job.directories = scene.directories;
	memcpy(ask.held, hold, size);
	ask.held_size = (uint32_t)size;
}

TestSuite(ignored, .timeout = 60);

static uint32_t flags(const char *path)
{
	return held_entry_flags(&job, path, NULL);
}

Test(ignored, rules_are_the_last_that_match)
{
	rules_file = ".gitignore";
	begin("# x\n\n*.log\n!keep.log\nout/\n/top\ntrailing \n!out/kept\n", "", 0);
	put_file(scene.directories.host, "sub/.gitignore", "!deep.log\nlocal\n");
	put_file(scene.directories.host, ".git/info/exclude", "mine\n");
	cr_expect(ignored_is(&job, IGNORED_BY_ALL, "a.log", false));
	cr_expect(ignored_is(&job, IGNORED_BY_ALL, "x/a.log", false));
	cr_expect_not(ignored_is(&job, IGNORED_BY_ALL, "keep.log", false));
	cr_expect_not(ignored_is(&job, IGNORED_BY_ALL, "sub/deep.log", false));
	cr_expect(ignored_is(&job, IGNORED_BY_ALL, "sub/x/local", false));
	cr_expect_not(ignored_is(&job, IGNORED_BY_ALL, "local", false));
	cr_expect(ignored_is(&job, IGNORED_BY_ALL, "out/kept", false), "beneath what is ignored");
	cr_expect_not(ignored_is(&job, IGNORED_BY_ALL, "out", false), "a file");
	cr_expect(ignored_is(&job, IGNORED_BY_ALL, "top", false));
	cr_expect_not(ignored_is(&job, IGNORED_BY_ALL, "x/top", false));
	cr_expect(ignored_is(&job, IGNORED_BY_ALL, "trailing", false));
	cr_expect(ignored_is(&job, IGNORED_BY_ALL, "mine", false));
	scene_end(&scene);
}

Test(ignored, what_it_lifts_and_what_not)
{
	begin("node_modules/\n.envrc\n.vscode/\nsrc/\neslint.config.js\n.env\n", "@tools", 7);
	cr_expect_eq(flags("node_modules/x/.vscode/tasks.json"), 0);
	cr_expect_eq(flags("node_modules/x/AGENTS.md"), 0);
	cr_expect_eq(flags("a/node_modules/x/.github/workflows/x.yml"), 0);
	cr_expect_eq(held_entry_flags(&job, "node_modules/x/y", "/usr/bin/python3"), 0);
	/* Obeyed by whoever is in the directory. */
	cr_expect_eq(flags("node_modules/x/.git/config"), CHANGE_IS_HELD);
	cr_expect_eq(flags("node_modules/x/.ENVRC"), CHANGE_IS_HELD);
	cr_expect_eq(flags("node_modules/HEAD"), CHANGE_IS_HELD);
	/* The names that are ignored themselves, and a tree that is beneath one. */
	cr_expect_eq(flags(".envrc"), CHANGE_IS_HELD);
	cr_expect_eq(flags(".env"), CHANGE_IS_HELD);
	cr_expect_eq(flags(".vscode/tasks.json"), CHANGE_IS_HELD);
	cr_expect_eq(flags(".husky/node_modules/x/.vscode/y"), CHANGE_IS_HELD);
	/* A rule lifts nothing but trees. */
	cr_expect_eq(flags("src/.vscode/tasks.json"), CHANGE_IS_HELD);
	cr_expect_eq(flags("vendor/x/.vscode/tasks.json"), CHANGE_IS_HELD, "not ignored");
	cr_expect_eq(held_entry_flags(&job, "node_modules", "/tmp"),
		     CHANGE_IS_HELD | CHANGE_LEADS_OUT, "a link in its place");
	/* Tools. */
	cr_expect_eq(flags("eslint.config.js"), 0);
	cr_expect_eq(flags("vite.config.ts"), CHANGE_IS_HELD | CHANGE_IS_TOOL);
	cr_expect_eq(flags(".gitignore"), CHANGE_IS_HELD | CHANGE_IS_TOOL);
	cr_expect_eq(flags("node_modules/x/.mspignore"), CHANGE_IS_HELD | CHANGE_IS_RULES);
	scene_end(&scene);
}

/* An apply may have brought such a file without a word. */
Test(ignored, rules_that_come_unasked_lift_nothing)
{
	rules_file = ".gitignore";
	begin("node_modules/\neslint.config.js\n", "@tools", 7);
	cr_expect(ignored_is(&job, IGNORED_BY_ALL, "eslint.config.js", false), "hidden");
	cr_expect_eq(flags("eslint.config.js"), CHANGE_IS_HELD | CHANGE_IS_TOOL);
	cr_expect_eq(flags("node_modules/x/.vscode/tasks.json"), CHANGE_IS_HELD);
	scene_end(&scene);
}

Test(ignored, rules_by_a_persons_word_lift)
{
	rules_file = ".git/info/exclude";
	begin("node_modules/\neslint.config.js\n", "@tools", 7);
	cr_expect_eq(flags("eslint.config.js"), 0, "the control");
	cr_expect_eq(flags("node_modules/x/.vscode/tasks.json"), 0, "the control");
	scene_end(&scene);
}

/* Files of rules beyond those that are remembered say what is not ignored, too. */
Test(ignored, many_directories_hide_no_rule)
{
	char path[32];

	begin("eslint.config.js\n", "@tools", 7);
	put_file(scene.directories.host, "zz/.mspignore", "!eslint.config.js\n");
	for (int i = 0; i < 600; i++) {
		(void)snprintf(path, sizeof(path), "d%03d", i);
		put_folder(scene.directories.host, path);
		(void)stpcpy(path + strlen(path), "/eslint.config.js");
		cr_expect_eq(flags(path), 0, "the control");
	}
	cr_expect_eq(flags("zz/eslint.config.js"), CHANGE_IS_HELD | CHANGE_IS_TOOL);
	scene_end(&scene);
}

Test(ignored, tools_are_marked_and_wait_where_the_operator_says_so)
{
	begin("", "", 0);
	cr_expect_eq(flags("build.rs"), CHANGE_IS_TOOL);
	cr_expect_eq(flags("a/.venv/bin/python"), CHANGE_IS_TOOL);
	cr_expect_eq(flags("lefthook.json"), CHANGE_IS_HELD, "obeyed by itself is worse");
	cr_expect_eq(flags("lint-staged.config.js"), CHANGE_IS_HELD);
	cr_expect_eq(flags("main.rs"), 0);
	scene_end(&scene);
	begin("", "Makefile\0@tools", 16);
	cr_expect_eq(flags("build.rs"), CHANGE_IS_TOOL | CHANGE_IS_HELD);
	cr_expect_eq(flags("Makefile"), CHANGE_IS_HELD);
	cr_expect_eq(flags("main.rs"), 0);
	scene_end(&scene);
}

Test(ignored, links_that_lead_out_are_marked)
{
	static const char *const out[] = { "/etc/passwd", "..",        "../x",         "a/../b",
					   "x/../../y",   "../../p/x", "/workspace2/x" };

	begin("", "", 0);
	put_link(scene.directories.host, "away", "/opt");
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++)
		cr_expect_eq(held_entry_flags(&job, "link", out[i]),
			     CHANGE_IS_HELD | CHANGE_LEADS_OUT, "%s", out[i]);
	cr_expect_eq(held_entry_flags(&job, "link", "away/x"), CHANGE_IS_HELD | CHANGE_LEADS_OUT);
	cr_expect_eq(held_entry_flags(&job, "link", "a/b"), 0);
	cr_expect_eq(held_entry_flags(&job, "a/link", "../b/./c"), 0);
	cr_expect_eq(held_entry_flags(&job, "link", "/workspace/b"), 0);
	cr_expect_eq(held_entry_flags(&job, "link", "/workspace/.git/hooks"), CHANGE_IS_HELD);
	scene_end(&scene);
}

Test(ignored, links_that_lead_into_a_tree_where_links_are_free)
{
	begin("node_modules/\n", "", 0);
	cr_expect_eq(held_entry_flags(&job, "node_modules/a", "/etc"), 0);
	cr_expect_eq(held_entry_flags(&job, "node_modules/a", "b"), 0, "the control");
	cr_expect_eq(held_entry_flags(&job, "docs", "node_modules/a"),
		     CHANGE_IS_HELD | CHANGE_LEADS_OUT);
	cr_expect_eq(held_entry_flags(&job, "docs", "modules/a"), 0, "the control");
	scene_end(&scene);
}

/* The directories above one path are remembered for the next. */
Test(ignored, paths_in_any_order)
{
	static const struct {
		const char *path;
		uint32_t flags;
	} rows[] = {
		{ "node_modules/x/.vscode/a", 0 },
		{ "node_modules/x/.vscode/b", 0 },
		{ "node_modules/.vscode/b", 0 },
		{ "node_module/.vscode/b", CHANGE_IS_HELD },
		{ "a/b/.vscode/b", CHANGE_IS_HELD },
		{ "a/build/.vscode/b", 0 },
		{ "a/buildx/.vscode/b", CHANGE_IS_HELD },
		{ "a/b/build/.vscode/b", CHANGE_IS_HELD },
		{ "a/build/.vscode", 0 },
		{ "a/.vscode", CHANGE_IS_HELD },
	};

	begin("node_modules/\n", "", 0);
	put_file(scene.directories.host, "a/.mspignore", "/build/\n");
	for (int times = 0; times < 2; times++) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			cr_expect_eq(flags(rows[i].path), rows[i].flags, "%s", rows[i].path);
	}
	for (size_t i = sizeof(rows) / sizeof(rows[0]); i-- > 0;)
		cr_expect_eq(flags(rows[i].path), rows[i].flags, "%s", rows[i].path);
	scene_end(&scene);
}

/* Directories in one another, and a name. */
static const char *put_deep(char *path, const char *start, unsigned depth)
{
	char *at = stpcpy(path, start);

	for (unsigned i = 0; i < depth; i++)
		at = stpcpy(at, "/a");
	return path;
}

Test(ignored, deep_paths_take_no_time, .timeout = 20)
{
	char path[4096], target[4096];

	begin("*.x\n", "", 0);
	cr_expect_eq(flags(put_deep(path, "a", 64)), 0, "the control");
	cr_expect_eq(flags(put_deep(path, "a", 65)), CHANGE_IS_HELD);
	for (unsigned depth = 1; depth < 1900; depth++) {
		cr_expect_eq(flags(put_deep(path, ".vscode", depth)), CHANGE_IS_HELD);
		cr_expect_eq(held_entry_flags(&job, "link", put_deep(target, "b", depth)),
			     depth > 64 ? CHANGE_IS_HELD : 0);
	}
	scene_end(&scene);
}
