/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/held.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc/ipc_layers.h"
#include "common/records/changes.h"
#include "scene.h"

/* With the operator's patterns in one string, a NUL after each. */
#define is_held_by(path, patterns) held_is_path((path), (patterns), sizeof(patterns) - 1, false)
#define is_held(path) held_is_path((path), "", 0, false)

Test(held, what_the_host_executes_by_itself)
{
	static const char *const paths[] = {
		".git/hooks/pre-commit",
		".git/config",
		".git/config.worktree",
		".git/info/attributes",
		".git/commondir",
		".git/objects/info/alternates",
		".git/rebase-merge/git-rebase-todo",
		".git/modules/sub/hooks/post-checkout",
		".git/worktrees/x/gitdir",
		".git", /* as a file it leads to a repository */
		"sub/.git",
		"sub/.git/hooks/pre-push",
		"bare.git/config",
		"bare.git/hooks/update",
		"bare/HEAD",
		".gitattributes",
		"deep/er/.gitattributes",
		".gitmodules",
		".envrc",
		"sub/.envrc",
		".direnv/bin/x",
		".github/workflows/ci.yml",
		".gitlab-ci.yml",
		".circleci/config.yml",
		"Jenkinsfile",
		"azure-pipelines.yml",
		".vscode/tasks.json",
		".vscode",
		"x.code-workspace",
		".idea/workspace.xml",
		".cursor/mcp.json",
		".cursorrules",
		".claude/settings.json",
		"CLAUDE.md",
		"sub/CLAUDE.md",
		".mcp.json",
		".codex/config.toml",
		"AGENTS.md",
		".gemini/settings.json",
		".aider.conf.yml",
		".bashrc",
		".profile",
		".zshrc",
		".npmrc",
		".yarnrc",
		".yarnrc.yml",
		".yarn/releases/yarn.cjs",
		".pnpmfile.cjs",
		".pre-commit-config.yaml",
		".husky/pre-commit",
		".cargo/config.toml",
		"rust-toolchain.toml",
		".mise.toml",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		cr_assert(is_held(paths[i]), "%s", paths[i]);
}

/* Names that the documents of their tools have. */
Test(held, what_tools_run_on_opening)
{
	static const char *const paths[] = {
		"prek.toml",           ".pre-commit-config.yml",
		".openhands/setup.sh", ".trunk/trunk.yaml",
		"devfile.yaml",        ".lintr",
		"config.nims",         "src/app.nims",
		".lazy.lua",           ".ycm_extra_conf.py",
		".bsp/sbt.json",       "buildServer.json",
		".envrc.private",      "mise/config.toml",
		"rust-analyzer.toml",  ".shadowenv.d/500_x.lisp",
		".moon/workspace.yml", ".simple-git-hooks.cjs",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		cr_assert(is_held(paths[i]), "%s", paths[i]);
}

Test(held, what_it_does_not)
{
	static const char *const paths[] = {
		"main.c",           "README.md",       "Makefile",
		"package.json",     "src/git/hooks/x", "git/config",
		".gitignore",       ".editorconfig",   "github/workflows/ci.yml",
		"docs/agents.html", "yarn.lock",       ".yarn/cache/x.zip",
		"header.h",         "heads/x",         "nims",
		"mise/tasks/x",     "prek.yaml",       "bsp/x.json",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		cr_assert_not(is_held(paths[i]), "%s", paths[i]);
}

Test(held, names_are_compared_as_a_forgiving_file_system_does)
{
	cr_assert(is_held(".GIT/Hooks/pre-commit"));
	cr_assert(is_held(".Git/config"));
	cr_assert(is_held("JENKINSFILE"));
	cr_assert(is_held(".VSCode/tasks.json"));
	cr_assert(is_held(".g\xe2\x80\x8cit/config"), "zero width non-joiner");
	cr_assert(is_held(".g\xef\xbb\xbfit/hooks/x"), "byte order mark");
	cr_assert(is_held(".git\xf3\xa0\x80\x81/hooks/x"), "tag character");
	cr_assert(is_held(".hus\xe2\x84\xaay/x"), "sign of Kelvin");
	cr_assert(is_held(".v\xc5\xbf"
			  "code/tasks.json"),
		  "long s");
	cr_assert(is_held(".\xc3\x9fh/config"), "sharp s");
	cr_assert(is_held(".\xe1\xba\x9eh/config"), "its capital");
	cr_assert(is_held(".con\xef\xac\x81g/x"), "ligature of f and i");
	cr_assert(is_held("\xef\xac\x82"
			  "ake.nix"),
		  "ligature of f and l");
	cr_assert(is_held(".lint\xef\xac\x86"
			  "agedrc"),
		  "ligature of s and t");
	cr_assert_not(is_held(".con\xef\xac\x80g/x"), "the control: another ligature");
	cr_assert_not(is_held(".g\xffit/config"), "no such character");
	cr_assert_not(is_held(".g\xe2\x80"), "cut off");
}

Test(held, the_operators_patterns)
{
	cr_assert(is_held_by("Makefile", "makefile\0"));
	cr_assert(is_held_by("deep/Makefile", "Makefile\0"));
	cr_assert(is_held_by("scripts/x/y", "scripts/\0"));
	cr_assert(is_held_by("scripts/x.sh", "scripts/*.sh\0"));
	cr_assert_not(is_held_by("deep/scripts/x.sh", "scripts/*.sh\0"));
	cr_assert_not(is_held_by("scripts/x/y.sh", "scripts/*.sh\0"));
	cr_assert(is_held_by("deep/scripts/x.sh", "**/scripts/*.sh\0"));
	cr_assert(is_held_by("scripts/x.sh", "**/scripts/*.sh\0"));
	cr_assert(is_held_by("package.json", "Makefile\0package.json\0"));
	cr_assert_not(is_held_by("package.json5", "Makefile\0package.json\0"));
	cr_assert(is_held_by("a/b/conftest.py", "conftest.py\0"));
}

/* --- whole changes --- */

static struct scene scene;
static struct ipc_layers_do ask;
static struct job job = { .ask = &ask, .output = -1 };

struct seen {
	char text[4096];
};

static int note_held(void *context, const struct difference *difference)
{
	struct seen *seen = context;
	const size_t used = strlen(seen->text);

	job.directories = scene.directories;
	if (held_is(&job, difference))
		(void)snprintf(seen->text + used, sizeof(seen->text) - used, "%s\n",
			       difference->path);
	return 0;
}

/* Return what a process finds that has not looked at the host before: it looks once. */
static const char *seen_anew(tree_found note)
{
	struct seen *seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(tree_compare(&scene.directories, note, seen) != 0);
	cr_assert(pid > 0 && seen != MAP_FAILED);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	return seen->text;
}

static const char *held_of_scene(void)
{
	return seen_anew(note_held);
}

Test(held, links_that_lead_to_such_a_name)
{
	scene_begin(&scene, 1);
	put_link(scene.uppers[0], "a", ".git/hooks");
	put_link(scene.uppers[0], "b/c", "../.vscode/tasks.json");
	put_link(scene.uppers[0], "b/d", "../x/./../.ENVRC");
	put_link(scene.uppers[0], "b/e", "/home/agent/.bashrc");
	put_link(scene.uppers[0], "b/f", "x/y");
	put_link(scene.uppers[0], "b/g", "/workspace/b/f");
	put_link(scene.uppers[0], "z", ".git/../main.c");
	cr_assert_str_eq(held_of_scene(), "a\nb/c\nb/d\nb/e\nz\n");
	scene_end(&scene);
}

Test(held, a_path_above_such_a_name)
{
	static const char own[] = "ci/*/run\0**/deploy/run.sh\0top/\0plain";

	cr_assert(held_is_path(".yarn", "", 0, true));
	cr_assert(held_is_path("sub/.YARN", "", 0, true));
	cr_assert_not(held_is_path("yarn", "", 0, true));
	cr_assert_not(held_is_path(".yarn/sdks", "", 0, true), "it is held itself");
	cr_assert_not(held_is_path("ci", "", 0, true), "the control");
	cr_assert(held_is_path("ci", own, sizeof(own), true));
	cr_assert(held_is_path("ci/x", own, sizeof(own), true));
	cr_assert_not(held_is_path("a/ci", own, sizeof(own), true));
	cr_assert(held_is_path("a/b/deploy", own, sizeof(own), true));
	cr_assert_not(held_is_path("top", own, sizeof(own), true));
	cr_assert_not(held_is_path("plain", own, sizeof(own), true));
}

Test(held, by_a_rename_either_way_and_by_a_deletion)
{
	scene_begin(&scene, 1);
	put_file(scene.directories.host, "harmless", "a hook that was there all the time");
	put_whiteout(scene.uppers[0], "harmless");
	put_file(scene.uppers[0], ".git/hooks/pre-commit", "a hook that was there all the time");
	put_file(scene.directories.host, ".envrc", "content of it");
	put_whiteout(scene.uppers[0], ".envrc");
	put_file(scene.uppers[0], "renamed", "content of it");
	put_file(scene.directories.host, ".claude/settings.json", "deny");
	put_whiteout(scene.uppers[0], ".claude");
	cr_assert_str_eq(held_of_scene(), ".claude\n.claude/settings.json\n.git\n.git/hooks\n"
					  ".git/hooks/pre-commit\nrenamed\n");
	scene_end(&scene);
}

Test(held, as_a_second_name_of_a_file)
{
	scene_begin(&scene, 1);
	put_file(scene.uppers[0], "a", "x");
	put_folder(scene.uppers[0], ".husky");
	cr_assert_eq(linkat(scene.uppers[0], "a", scene.uppers[0], ".husky/pre-push", 0), 0);
	cr_assert_str_eq(held_of_scene(), ".husky\n.husky/pre-push\n");
	scene_end(&scene);
}

Test(held, what_links_of_the_host_at_such_names_lead_to)
{
	scene_begin(&scene, 1);
	put_link(scene.directories.host, ".git/hooks/pre-commit", "../../scripts/check");
	put_link(scene.directories.host, ".vscode", "config/editor");
	put_link(scene.directories.host, ".envrc", "/outside");
	put_link(scene.directories.host, ".bashrc", "../outside");
	put_link(scene.directories.host, "plain", "src");
	put_file(scene.uppers[0], "scripts/check", "#!/bin/sh");
	put_file(scene.uppers[0], "scripts/checker", "#!/bin/sh");
	put_file(scene.uppers[0], "config/editor/tasks.json", "{}");
	put_file(scene.uppers[0], "src/main.c", "x");
	put_link(scene.uppers[0], "way", "scripts/check");
	cr_assert_str_eq(held_of_scene(),
			 "config/editor\nconfig/editor/tasks.json\nscripts/check\nway\n");
	scene_end(&scene);
}

static void set_workspace(const char *path)
{
	(void)snprintf(ask.workspace, sizeof(ask.workspace), "%s", path);
}

Test(held, links_of_the_host_are_followed_as_the_kernel_does)
{
	scene_begin(&scene, 1);
	set_workspace("/home/user/project");
	put_link(scene.directories.host, ".git/hooks/absolute", "/home/user/project/scripts/a");
	put_link(scene.directories.host, ".git/hooks/back", "../../../project/scripts/b");
	put_link(scene.directories.host, ".git/hooks/chain", "../../first");
	put_link(scene.directories.host, "first", "folder/second");
	put_link(scene.directories.host, "folder", "real/deep");
	put_link(scene.directories.host, "real/deep/second", "../c");
	put_link(scene.directories.host, ".git/hooks/alias", "/mnt/x/project/scripts/d");
	put_link(scene.directories.host, ".git/hooks/away", "/home/user/project2/scripts/e");
	put_link(scene.directories.host, ".git/hooks/up", "../../folder/../f");
	for (const char *name = "abcdef"; *name; name++) {
		put_file(scene.uppers[0],
			 (const char[]){ 's', 'c', 'r', 'i', 'p', 't', 's', '/', *name, '\0' },
			 "x");
	}
	put_file(scene.uppers[0], "real/c", "the end of the chain");
	put_file(scene.uppers[0], "real/f", "above a directory that a link leads to");
	put_file(scene.uppers[0], "f", "what the text alone says");
	put_file(scene.uppers[0], "real/deep/second", "a link of the chain becomes a file");
	cr_assert_str_eq(held_of_scene(), "real/c\nreal/deep/second\nreal/f\nscripts/a\n"
					  "scripts/b\nscripts/d\n");
	scene_end(&scene);
}

Test(held, directories_that_links_lead_to_are_searched_too)
{
	scene_begin(&scene, 1);
	set_workspace("/home/user/project");
	put_link(scene.directories.host, ".husky", "dev/hooks");
	put_link(scene.directories.host, "dev/hooks/a", "/home/user/project/scripts/a");
	put_link(scene.directories.host, "dev/hooks/round", "round");
	put_link(scene.directories.host, "dev/hooks/again", "../../.husky");
	put_file(scene.uppers[0], "scripts/a", "x");
	put_file(scene.uppers[0], "scripts/b", "x");
	put_file(scene.uppers[0], "Dev/Hooks/b", "where upper and lower case are the same");
	cr_assert_str_eq(held_of_scene(), "Dev/Hooks\nDev/Hooks/b\nscripts/a\n");
	scene_end(&scene);
}

Test(held, a_link_above_where_links_lead)
{
	scene_begin(&scene, 1);
	set_workspace("/home/user/project");
	put_link(scene.uppers[0], "own", "other");
	put_link(scene.uppers[0], "owner", "other");
	put_file(scene.uppers[0], "other/hook", "x");
	cr_assert_str_eq(held_of_scene(), "", "the control");
	put_link(scene.directories.host, ".git/hooks/pre-commit", "/home/user/project/own/hook");
	cr_assert_str_eq(held_of_scene(), "own\n");
	scene_end(&scene);
}

Test(held, a_link_to_the_whole_workspace_holds_all_of_it)
{
	scene_begin(&scene, 1);
	set_workspace("/home/user/project");
	put_file(scene.uppers[0], "pre-commit", "x");
	cr_assert_str_eq(held_of_scene(), "", "the control");
	put_link(scene.directories.host, ".git/hooks", "../../project");
	cr_assert_str_eq(held_of_scene(), "pre-commit\n");
	scene_end(&scene);
}

Test(held, beyond_the_bound_all_is_held)
{
	char path[4096];

	scene_begin(&scene, 1);
	put_file(scene.uppers[0], "main.c", "x");
	put_folder(scene.directories.host, ".husky");
	cr_assert_str_eq(held_of_scene(), "", "the control");
	for (int i = 0; i < 300; i++) { /* so many bytes of targets that a megabyte is reached */
		const int used = snprintf(path, sizeof(path), "../%d/", i);
		char name[64];

		memset(path + used, 'x', sizeof(path) - (size_t)used);
		for (size_t at = (size_t)used + 200; at < sizeof(path); at += 200)
			path[at] = '/';
		path[4000] = '\0';
		(void)snprintf(name, sizeof(name), ".husky/%d", i);
		put_link(scene.directories.host, name, path);
	}
	cr_assert_str_eq(held_of_scene(), "main.c\n");
	scene_end(&scene);
}

Test(held, many_names_hide_no_link)
{
	char name[64];

	scene_begin(&scene, 1);
	for (int i = 0; i < 5000; i++) {
		(void)snprintf(name, sizeof(name), ".git/hooks/%d.sample", i);
		put_file(scene.directories.host, name, "");
	}
	put_link(scene.directories.host, ".git/hooks/pre-commit", "../../bin/hook");
	put_file(scene.uppers[0], "bin/hook", "x");
	put_file(scene.uppers[0], "main.c", "x");
	cr_assert_str_eq(held_of_scene(), "bin/hook\n");
	scene_end(&scene);
}

Test(held, stores_are_not_searched_for_links)
{
	scene_begin(&scene, 1);
	put_link(scene.directories.host, ".hg/store/link", "../../src");
	put_link(scene.directories.host, ".hg/hook", "../bin/hook");
	put_file(scene.uppers[0], "src/main.c", "x");
	put_file(scene.uppers[0], "bin/hook", "x");
	cr_assert_str_eq(held_of_scene(), "bin/hook\n");
	scene_end(&scene);
}

/* --- files that no table knows --- */

static int note_flags(void *context, const struct difference *difference)
{
	struct seen *seen = context;
	const size_t used = strlen(seen->text);
	const uint32_t flags = held_flags(&job, difference);

	if (flags & CHANGE_MAY_RUN)
		(void)snprintf(seen->text + used, sizeof(seen->text) - used, "%s%s\n",
			       difference->path, flags & CHANGE_IS_HELD ? " held" : "");
	return 0;
}

static const char *unknown_of_scene(void)
{
	job.directories = scene.directories;
	return seen_anew(note_flags);
}

/* Each has a kind that tools execute, and a twin that has not. */
Test(held, new_files_of_a_kind_that_tools_execute)
{
	scene_begin(&scene, 1);
	put_file(scene.uppers[0], ".toolrc", "x");
	put_file(scene.uppers[0], ".tool/config", "x");
	put_file(scene.uppers[0], "tool/config", "x");
	put_file(scene.uppers[0], "Bin/x", "x");
	put_file(scene.uppers[0], "bins/x", "x");
	put_file(scene.uppers[0], "a.SH", "x");
	put_file(scene.uppers[0], "a.shx", "x");
	put_file(scene.uppers[0], "program", "x");
	put_mode(scene.uppers[0], "program", 0755);
	put_file(scene.uppers[0], "script", "#!/bin/sh\n");
	put_file(scene.uppers[0], "text", "# !/bin/sh\n");
	put_file(scene.uppers[0], "short", "#");
	put_link(scene.uppers[0], "src/.link", "../text");
	put_link(scene.uppers[0], "src/link", "../text");
	cr_assert_str_eq(unknown_of_scene(),
			 ".tool/config\n.toolrc\nBin/x\na.SH\nprogram\nscript\nsrc/.link\n");
	scene_end(&scene);
}

/* A user knows the files that the host has had, but not their new right to be executed. */
Test(held, files_that_the_host_has_had)
{
	scene_begin(&scene, 1);
	put_file(scene.directories.host, ".toolrc", "x");
	put_file(scene.uppers[0], ".toolrc", "y");
	put_file(scene.directories.host, "program", "x");
	put_mode(scene.directories.host, "program", 0755);
	put_file(scene.uppers[0], "program", "y");
	put_mode(scene.uppers[0], "program", 0755);
	put_file(scene.directories.host, "text", "x");
	put_file(scene.uppers[0], "text", "#!/bin/sh\n");
	put_file(scene.directories.host, "more", "x");
	put_mode(scene.directories.host, "more", 0644);
	put_file(scene.uppers[0], "more", "x");
	put_mode(scene.uppers[0], "more", 0755);
	put_file(scene.directories.host, "was", "#!/bin/sh\ntrue");
	put_whiteout(scene.uppers[0], "was");
	put_file(scene.uppers[0], "is", "#!/bin/sh\ntrue");
	put_file(scene.directories.host, "folder/x", "x");
	put_file(scene.uppers[0], "folder", "#!/bin/sh\n");
	cr_assert_str_eq(unknown_of_scene(), "folder\nis\nmore\n");
	scene_end(&scene);
}

Test(held, dot_files_where_the_operator_holds_them)
{
	static const char word[] = "@dotfiles";

	scene_begin(&scene, 1);
	put_file(scene.directories.host, ".had", "x");
	put_file(scene.uppers[0], ".had", "y");
	put_file(scene.directories.host, ".mspignore", ".cache/\n");
	put_file(scene.uppers[0], ".cache/x", "x");
	put_file(scene.uppers[0], ".tool/config", "x");
	put_file(scene.uppers[0], ".envrc", "x");
	put_file(scene.uppers[0], "a.sh", "x");
	put_file(scene.uppers[0], "a.c", "x");
	cr_assert_str_eq(unknown_of_scene(), ".tool/config\na.sh\n", "the control");
	memcpy(ask.held, word, sizeof(word));
	ask.held_size = sizeof(word);
	cr_assert_str_eq(unknown_of_scene(), ".had held\n.tool held\n.tool/config held\na.sh\n");
	cr_assert_eq(held_entry_flags(&job, ".eslintrc.js", NULL), CHANGE_IS_HELD | CHANGE_IS_TOOL);
	cr_assert_eq(held_entry_flags(&job, "way", ".tool/config"),
		     CHANGE_IS_HELD | CHANGE_MAY_RUN);
	cr_assert_eq(held_entry_flags(&job, "build.rs", NULL), CHANGE_IS_TOOL);
	ask.held_size = 0;
	scene_end(&scene);
}
