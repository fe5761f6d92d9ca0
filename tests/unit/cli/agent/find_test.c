/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/find.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[64];
static struct agent_row row = { .name = "tool", .programs = { 1, { "tool" } } };
static struct agent_program program;

static void make_home(void)
{
	(void)strcpy(home, "/tmp/msp-test-XXXXXX");
	cr_assert(mkdtemp(home));
}

static void remove_home(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf %s", home);
	cr_assert_eq(system(command), 0);
}

TestSuite(find, .init = make_home, .fini = remove_home);

/* The path below the home, in storage of its own. */
static const char *below(const char *path)
{
	static char texts[8][512];
	static int next;
	char *ret = texts[next++ % 8];

	(void)snprintf(ret, sizeof(texts[0]), "%s/%s", home, path);
	return ret;
}

static void make(const char *path, const char *content, mode_t mode)
{
	char command[1024];
	FILE *file;

	(void)snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s')\"", below(path));
	cr_assert_eq(system(command), 0);
	file = fopen(below(path), "w");
	cr_assert(file);
	cr_assert(fputs(content, file) >= 0);
	cr_assert_eq(fclose(file), 0);
	cr_assert_eq(chmod(below(path), mode), 0);
}

static void make_link(const char *path, const char *target)
{
	make(path, "", 0644);
	(void)unlink(below(path));
	cr_assert_eq(symlink(target, below(path)), 0);
}

static enum agent_search find_by(const char *path)
{
	const struct agent_places places = { .path = path, .home = home };

	return agent_find(&row, &places, &program);
}

static void assert_binds(uint32_t count, const char *first, const char *second)
{
	cr_assert_eq(program.bind_count, count);
	if (count > 0)
		cr_assert_str_eq(program.binds[0], below(first));
	if (count > 1)
		cr_assert_str_eq(program.binds[1], below(second));
}

Test(find, nothing_is_there)
{
	cr_assert_eq(find_by(NULL), AGENT_NOT_FOUND);
	cr_assert_eq(find_by("/usr/bin:relative::"), AGENT_NOT_FOUND);
}

Test(find, what_cannot_be_executed_is_none)
{
	make("bin/tool", "", 0644);
	make(".local/bin/tool/file", "", 0644);
	cr_assert_eq(find_by(below("bin")), AGENT_NOT_FOUND);
}

Test(find, a_program_alone)
{
	make(".local/bin/tool", "\177ELF", 0755);
	cr_assert_eq(find_by("/usr/bin"), AGENT_FOUND);
	cr_assert_str_eq(program.found, below(".local/bin/tool"));
	assert_binds(1, ".local/bin/tool", NULL);
	cr_assert_str_eq(program.interpreter, "");
}

Test(find, path_comes_first)
{
	make(".local/bin/tool", "\177ELF", 0755);
	make("mine/tool", "\177ELF", 0755);
	cr_assert_eq(find_by(below("mine")), AGENT_FOUND);
	cr_assert_str_eq(program.file, below("mine/tool"));
}

Test(find, the_package_and_node_of_a_version_manager)
{
	make(".nvm/versions/node/v18/lib/node_modules/@a/tool/package.json", "{}", 0644);
	make(".nvm/versions/node/v18/lib/node_modules/@a/tool/bin/cli.js",
	     "#!/usr/bin/env -S node --flag\n", 0755);
	make_link(".nvm/versions/node/v18/bin/tool", "../lib/node_modules/@a/tool/bin/cli.js");
	make(".nvm/versions/node/v18/bin/node", "\177ELF", 0755);
	cr_assert_eq(find_by("/usr/bin"), AGENT_FOUND);
	cr_assert_str_eq(program.interpreter, below(".nvm/versions/node/v18/bin/node"));
	cr_assert_eq(program.flag_count, 1);
	cr_assert_str_eq(program.flags[0], "--flag");
	assert_binds(1, ".nvm/versions/node/v18", NULL);
	cr_assert_str_eq(program.path, below(".nvm/versions/node/v18/bin"));
}

Test(find, of_several_versions_the_last_one)
{
	make(".nvm/versions/node/v18/bin/tool", "\177ELF", 0755);
	make(".nvm/versions/node/v20/bin/tool", "\177ELF", 0755);
	cr_assert_eq(find_by(NULL), AGENT_FOUND);
	cr_assert_str_eq(program.found, below(".nvm/versions/node/v20/bin/tool"));
}

Test(find, a_package_with_node_elsewhere)
{
	make("prefix/lib/node_modules/tool/package.json", "{}", 0644);
	make("prefix/lib/node_modules/tool/cli.js", "#!/usr/bin/env node\n", 0755);
	make_link("prefix/bin/tool", "../lib/node_modules/tool/cli.js");
	make("opt/node/bin/node", "\177ELF", 0755);
	char path[1200];

	(void)snprintf(path, sizeof(path), "%s:%s", below("prefix/bin"), below("opt/node/bin"));
	cr_assert_eq(find_by(path), AGENT_FOUND);
	assert_binds(2, "prefix/lib/node_modules/tool", "opt/node");
}

Test(find, packages_beside_it)
{
	make("app/package.json", "{}", 0644);
	make("app/node_modules/tool/package.json", "{}", 0644);
	make("app/node_modules/tool/cli", "\177ELF", 0755);
	make_link("app/node_modules/.bin/tool", "../tool/cli");
	cr_assert_eq(find_by(below("app/node_modules/.bin")), AGENT_FOUND);
	assert_binds(1, "app/node_modules", NULL);
}

Test(find, the_store_of_pnpm)
{
	make("global/5/.pnpm/tool@1/node_modules/tool/package.json", "{}", 0644);
	make("global/5/.pnpm/tool@1/node_modules/tool/cli", "\177ELF", 0755);
	make_link("bin/tool", "../global/5/.pnpm/tool@1/node_modules/tool/cli");
	cr_assert_eq(find_by(NULL), AGENT_FOUND);
	assert_binds(1, "global/5/.pnpm", NULL);
}

Test(find, an_environment_of_python)
{
	make(".local/share/uv/tools/tool/pyvenv.cfg", "", 0644);
	make(".local/share/uv/python/cpython/bin/python3.12", "\177ELF", 0755);
	make_link(".local/share/uv/tools/tool/bin/python",
		  below(".local/share/uv/python/cpython/bin/python3.12"));
	char line[1100];

	(void)snprintf(line, sizeof(line), "#!%s\n",
		       below(".local/share/uv/tools/tool/bin/python"));
	make(".local/share/uv/tools/tool/bin/tool", line, 0755);
	make_link(".local/bin/tool", below(".local/share/uv/tools/tool/bin/tool"));
	cr_assert_eq(find_by(NULL), AGENT_FOUND);
	cr_assert_str_eq(program.interpreter, below(".local/share/uv/tools/tool/bin/python"));
	assert_binds(2, ".local/share/uv/tools/tool", ".local/share/uv/python/cpython");
}

Test(find, the_systems_interpreter_needs_no_bind)
{
	make("bin/tool", "#!/bin/sh\n", 0755);
	cr_assert_eq(find_by(NULL), AGENT_FOUND);
	cr_assert_str_eq(program.interpreter, "/usr/bin/sh");
	assert_binds(1, "bin/tool", NULL);
	cr_assert_str_eq(program.path, "");
}

Test(find, a_home_is_no_package)
{
	make("package.json", "{}", 0644);
	make("bin/tool", "\177ELF", 0755);
	cr_assert_eq(find_by(NULL), AGENT_FOUND);
	assert_binds(1, "bin/tool", NULL);
}

Test(find, a_shared_prefix_is_not_shown)
{
	make(".local/bin/tool", "#!/usr/bin/env own-node\n", 0755);
	make(".local/bin/own-node", "\177ELF", 0755);
	cr_assert_eq(find_by(NULL), AGENT_FOUND);
	assert_binds(2, ".local/bin/tool", ".local/bin/own-node");
}

Test(find, a_shim_is_not_the_program)
{
	make(".volta/bin/volta-shim", "\177ELF", 0755);
	make_link(".volta/bin/tool", "volta-shim");
	cr_assert_eq(find_by(below(".volta/bin")), AGENT_NOT_FOUND);
	make(".volta/tools/image/packages/tool/bin/tool", "\177ELF", 0755);
	cr_assert_eq(find_by(below(".volta/bin")), AGENT_FOUND);
}

Test(find, an_interpreter_that_is_missing)
{
	make("bin/tool", "#!/usr/bin/env no-such-program\n", 0755);
	cr_assert_eq(find_by(NULL), AGENT_NO_INTERPRETER);
	cr_assert_str_eq(program.line, "no-such-program");
	make("bin/tool", "#! /nowhere/at/all -x\n", 0755);
	cr_assert_eq(find_by(NULL), AGENT_NO_INTERPRETER);
	cr_assert_str_eq(program.line, "/nowhere/at/all");
	make("bin/tool", "#!/usr/bin/env\n", 0755);
	cr_assert_eq(find_by(NULL), AGENT_NO_INTERPRETER);
}

Test(find, odd_first_lines)
{
	static const char *const lines[] = { "", "#", "#!", "#!\n", "#!   \n", "plain\n" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		make("bin/tool", lines[i], 0755);
		cr_assert_eq(find_by(NULL), AGENT_FOUND);
		cr_assert_str_eq(program.interpreter, "");
	}
}

Test(find, the_second_name)
{
	const struct agent_row two = { .name = "t", .programs = { 2, { "none-such", "tool" } } };
	const struct agent_places places = { .path = NULL, .home = home };

	make("bin/tool", "\177ELF", 0755);
	cr_assert_eq(agent_find(&two, &places, &program), AGENT_FOUND);
}
