/* SPDX-License-Identifier: Apache-2.0
 *
 * msp-policy as a command: exit codes, streams, files.
 */
#include "support.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/msp-policy-test-XXXXXX";

static void make_folder(void)
{
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
}

static void remove_folder(void)
{
	static const char *const files[] = { "out",      "error",     "a.policy",
					     "b.policy", "good.yaml", "bad.yaml" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlink(files[i]);
	cr_expect_eq(rmdir(folder), 0, "a file is left");
}

TestSuite(command, .init = make_folder, .fini = remove_folder);

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	cr_assert_not_null(file);
	cr_assert_geq(fputs(text, file), 0);
	cr_assert_eq(fclose(file), 0);
}

static struct buffer read_text(const char *path)
{
	struct buffer text = { .bytes = NULL };
	FILE *file = fopen(path, "re");
	char bytes[4096];
	size_t size;

	cr_assert_not_null(file, "%s", path);
	while ((size = fread(bytes, 1, sizeof(bytes), file)) > 0)
		buffer_add(&text, bytes, size);
	buffer_add(&text, "", 0);
	cr_assert_eq(fclose(file), 0);
	return text;
}

/* Exit code; the streams are in the files "out" and "error". */
static int run(const char *a, const char *b, const char *c, const char *d)
{
	char *argv[] = {
		memory_text(MSP_POLICY, strlen(MSP_POLICY)), NULL, NULL, NULL, NULL, NULL
	};
	const char *const words[] = { a, b, c, d };
	char *none[] = { NULL };
	posix_spawn_file_actions_t actions;
	int status;
	pid_t child;

	for (int i = 0; i < 4 && words[i] != NULL; i++)
		argv[i + 1] = memory_text(words[i], strlen(words[i]));
	cr_assert_eq(posix_spawn_file_actions_init(&actions), 0);
	cr_assert_eq(posix_spawn_file_actions_addopen(&actions, 1, "out",
						      O_WRONLY | O_CREAT | O_TRUNC, 0600),
		     0);
	cr_assert_eq(posix_spawn_file_actions_addopen(&actions, 2, "error",
						      O_WRONLY | O_CREAT | O_TRUNC, 0600),
		     0);
	cr_assert_eq(posix_spawn(&child, argv[0], &actions, NULL, argv, none), 0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status));
	(void)posix_spawn_file_actions_destroy(&actions);
	for (int i = 0; argv[i] != NULL; i++)
		free(argv[i]);
	return WEXITSTATUS(status);
}

static void expect_in(const char *path, const char *part)
{
	struct buffer text = read_text(path);

	cr_expect_not_null(strstr(text.bytes, part), "\"%s\" is not in %s: %s", part, path,
			   text.bytes);
	buffer_done(&text);
}

Test(command, compile_writes_the_same_plan_to_a_file_and_to_standard_output)
{
	struct buffer first, second;
	struct plan plan;

	cr_assert_eq(run("compile", "-o", "a.policy", NULL), 0);
	cr_assert_eq(run("compile", NULL, NULL, NULL), 0);
	first = read_text("a.policy");
	second = read_text("out");
	cr_assert_eq(first.size, second.size);
	cr_expect_eq(memcmp(first.bytes, second.bytes, first.size), 0);
	cr_expect_eq(plan_open(first.bytes, first.size, &plan), 0);
	buffer_done(&first);
	buffer_done(&second);
}

Test(command, compile_takes_files_and_replaces_a_plan_only_by_a_whole_one)
{
	struct buffer blob;
	struct plan plan;

	write_text("good.yaml", good_profile);
	write_text("bad.yaml", "name: x\nfoo: y\n");
	cr_assert_eq(run("compile", "-o", "b.policy", "good.yaml"), 0);
	cr_expect_eq(run("compile", "-o", "b.policy", "bad.yaml"), 78);
	expect_in("error", "msp-policy: bad.yaml:2: foo: unknown key");
	blob = read_text("b.policy");
	cr_assert_eq(plan_open(blob.bytes, blob.size, &plan), 0);
	cr_expect_geq(plan_profile_find(&plan, "mine"), 0);
	cr_expect_geq(plan_profile_find(&plan, "_helper"), 0);
	buffer_done(&blob);
	cr_expect_eq(run("compile", "-o", "no/such/folder", NULL), 70);
	expect_in("error", "no/such/folder");
}

Test(command, check_and_show)
{
	write_text("good.yaml", good_profile);
	cr_expect_eq(run("check", "good.yaml", NULL, NULL), 0);
	expect_in("out", "good.yaml: ok");
	cr_expect_eq(run("show", "mine", "good.yaml", NULL), 0);
	expect_in("out", "name: mine");
	cr_expect_eq(run("seccomp", "strict", NULL, NULL), 0);
	expect_in("out", "network: EPERM");
	cr_expect_eq(run("groups", NULL, NULL, NULL), 0);
	expect_in("out", "namespaces (never)");
	cr_expect_eq(run("list", NULL, NULL, NULL), 0);
	expect_in("out", "default ");
	cr_expect_eq(run("--version", NULL, NULL, NULL), 0);
	expect_in("out", "msp-policy ");
	cr_expect_eq(run("--help", NULL, NULL, NULL), 0);
	expect_in("out", "usage: msp-policy COMMAND");
}

Test(command, mistakes_in_use_are_64_and_refusals_78)
{
	cr_expect_eq(run(NULL, NULL, NULL, NULL), 64);
	cr_expect_eq(run("bake", NULL, NULL, NULL), 64);
	expect_in("error", "unknown command bake");
	cr_expect_eq(run("check", NULL, NULL, NULL), 64);
	cr_expect_eq(run("show", NULL, NULL, NULL), 64);
	cr_expect_eq(run("show", "nobody", NULL, NULL), 64);
	expect_in("error", "there is no profile nobody");
	cr_expect_eq(run("compile", "-o", NULL, NULL), 64);
	cr_expect_eq(run("check", "missing.yaml", NULL, NULL), 78);
	expect_in("error", "missing.yaml: No such file");
	cr_expect_eq(run("check", "/tmp", NULL, NULL), 78);
	expect_in("error", "/tmp: Is a directory");
}
