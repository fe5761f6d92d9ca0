/* SPDX-License-Identifier: Apache-2.0
 *
 * msp-policy as a command: exit codes, streams, files.
 */
#include "lib/heap/memory.h"
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
	static const char *const files[] = { "out",       "error",    "a.policy",    "b.policy",
					     "good.yaml", "bad.yaml", "closed.yaml", "fifo" };

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
		buffer_append(&text, bytes, size);
	buffer_append(&text, "", 0);
	cr_assert_eq(fclose(file), 0);
	return text;
}

#define WORDS_MAX 8

/* Exit code; the streams are in the files "out" and "error", and "out" is descriptor 7, too. */
static int run_words(const char *const *words)
{
	char *argv[WORDS_MAX + 2] = { memory_text(MSP_POLICY, strlen(MSP_POLICY)) };
	char *none[] = { NULL };
	posix_spawn_file_actions_t actions;
	int status;
	pid_t child;

	for (int i = 0; i < WORDS_MAX && words[i] != NULL; i++)
		argv[i + 1] = memory_text(words[i], strlen(words[i]));
	cr_assert_eq(posix_spawn_file_actions_init(&actions), 0);
	cr_assert_eq(posix_spawn_file_actions_addopen(&actions, 1, "out",
						      O_WRONLY | O_CREAT | O_TRUNC, 0600),
		     0);
	cr_assert_eq(posix_spawn_file_actions_addopen(&actions, 2, "error",
						      O_WRONLY | O_CREAT | O_TRUNC, 0600),
		     0);
	cr_assert_eq(posix_spawn_file_actions_adddup2(&actions, 1, 7), 0);
	cr_assert_eq(posix_spawn(&child, argv[0], &actions, NULL, argv, none), 0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status));
	(void)posix_spawn_file_actions_destroy(&actions);
	for (int i = 0; argv[i] != NULL; i++)
		free(argv[i]);
	return WEXITSTATUS(status);
}

#define run(...) run_words((const char *const[WORDS_MAX + 1]){ __VA_ARGS__ })

/* A file with the one profile of `keys`. */
static void write_config(const char *path, const char *keys)
{
	char *text = config_of(keys);

	write_text(path, text);
	free(text);
}

static void expect_in(const char *path, const char *part)
{
	struct buffer text = read_text(path);

	cr_expect_not_null(strstr(text.bytes, part), "\"%s\" is not in %s: %s", part, path,
			   text.bytes);
	buffer_done(&text);
}

Test(command, compile_writes_the_same_plan_to_a_file_a_descriptor_and_standard_output)
{
	struct buffer first, second, third;
	struct plan plan;

	cr_assert_eq(run("compile", "-o", "a.policy"), 0);
	cr_assert_eq(run("compile"), 0);
	first = read_text("a.policy");
	second = read_text("out");
	cr_assert_eq(run("compile", "--fd", "7"), 0);
	third = read_text("out");
	cr_assert_eq(first.size, second.size);
	cr_assert_eq(first.size, third.size);
	cr_expect_eq(memcmp(first.bytes, second.bytes, first.size), 0);
	cr_expect_eq(memcmp(first.bytes, third.bytes, first.size), 0);
	cr_expect_eq(plan_open(first.bytes, first.size, &plan), 0);
	buffer_done(&first);
	buffer_done(&second);
	buffer_done(&third);
}

Test(command, compile_takes_a_file_and_replaces_a_plan_only_by_a_whole_one)
{
	struct buffer blob;
	struct plan plan;

	write_config("good.yaml", good_profile);
	write_text("bad.yaml", "profiles:\n  - foo: y\n");
	cr_assert_eq(run("compile", "-o", "b.policy", "--config", "good.yaml"), 0);
	cr_expect_eq(run("compile", "--config", "bad.yaml", "-o", "b.policy"), 78);
	expect_in("error", "msp-policy: bad.yaml:2: profiles[0].foo: unknown key");
	blob = read_text("b.policy");
	cr_assert_eq(plan_open(blob.bytes, blob.size, &plan), 0);
	cr_expect_geq(plan_profile_find(&plan, "mine"), 0);
	cr_expect_geq(plan_profile_find(&plan, "_helper"), 0);
	cr_expect_str_eq(plan_string(&plan, plan_header(&plan)->file), "good.yaml");
	buffer_done(&blob);
	cr_expect_eq(run("compile", "-o", "no/such/folder"), 70);
	expect_in("error", "no/such/folder");
	cr_expect_eq(run("compile", "--fd", "99"), 70);
	expect_in("error", "descriptor 99: Bad file descriptor");
}

Test(command, check_and_show)
{
	write_config("good.yaml", good_profile);
	cr_expect_eq(run("check", "--config", "good.yaml"), 0);
	expect_in("out", "good.yaml: ok, 1 profile\n");
	write_text("good.yaml", "profiles:\n"
				"  - {name: mine, extends: default}\n"
				"  - {name: more, extends: mine, limits: {pids: 7}}\n");
	cr_expect_eq(run("check", "--config", "good.yaml"), 0);
	expect_in("out", "good.yaml: ok, 2 profiles\n");
	cr_expect_eq(run("show", "mine", "--config", "good.yaml"), 0);
	expect_in("out", "name: mine (good.yaml:2)\nextends: default (good.yaml:2)\n");
	cr_expect_eq(run("list", "--config", "good.yaml"), 0);
	expect_in("out", "\nmine  ");
	cr_expect_eq(run("seccomp", "strict"), 0);
	expect_in("out", "network: EPERM");
	cr_expect_eq(run("groups"), 0);
	expect_in("out", "namespaces (never)");
	cr_expect_eq(run("hosts"), 0);
	expect_in("out",
		  "@pypi  Python packages: pip, uv, poetry; profile python-net\n  pypi.org\n");
	cr_expect_eq(run("list"), 0);
	expect_in("out", "default ");
	cr_expect_eq(run("agents"), 0);
	expect_in("out", "agent\tclaude\ndescription\tClaude Code\n");
	expect_in("out", "\nagent\tcodex\n");
	cr_expect_eq(run("--version"), 0);
	expect_in("out", "msp-policy ");
	cr_expect_eq(run("--help"), 0);
	expect_in("out", "usage: msp-policy COMMAND");
}

Test(command, agents_of_the_program_and_of_a_file)
{
	write_text("good.yaml", "agents:\n"
				"  - {name: mine, programs: [mine], hosts: [a.example.org]}\n");
	cr_expect_eq(run("agents", "mine", "--config", "good.yaml"), 0);
	expect_in("out", "agent\tmine\nprogram\tmine\nhost\ta.example.org\n");
	cr_expect_eq(run("agents", "mine"), 64);
	expect_in("error", "msp-policy: there is no agent mine: known are claude, codex");
	expect_in("error", "; 'agents' in the configuration adds one (msp-policy(5))");
	expect_in("out", "");
	cr_expect_eq(run("show", "agent.mine", "--config", "good.yaml"), 0);
	expect_in("out", "name: agent.mine (good.yaml:2)\nextends: agent (good.yaml:2), default (");
	expect_in("out", "  wall_terminal none (");
	cr_expect_eq(run("explain", "agent.codex.login", "connect chatgpt.com:443"), 0);
	expect_in("out", "allowed: connect chatgpt.com:443");
	cr_expect_eq(run("explain", "agent.codex", "connect chatgpt.com:443"), 0);
	expect_in("out", "refused: connect chatgpt.com:443");
	cr_expect_eq(run("diff", "agent.codex", "agent.codex.login"), 1);
	cr_expect_eq(run("show", "agent.mine"), 64);
	cr_expect_eq(run("show", "agent"), 64, "nobody offers it");
	cr_expect_eq(run("show", "agent.codex.other"), 64);
	write_text("bad.yaml", "agents: [{name: mine}]\n");
	cr_expect_eq(run("agents", "--config", "bad.yaml"), 78);
	expect_in("error", "msp-policy: bad.yaml:1: agents[0].programs: missing; expected");
}

Test(command, explain)
{
	cr_expect_eq(run("explain", "default", "write /etc/passwd", "syscall mount"), 0);
	expect_in("out", "refused: write /etc/passwd: read-only file system (EROFS)\nrule: files: "
			 "/etc/passwd, file, read-only (");
	expect_in("out", "\nrefused: syscall mount: operation not permitted (EPERM)\nrule: ");
	cr_expect_eq(run("explain", "default", "list", "/tmp"), 0);
	expect_in("out", "allowed: list /tmp\n");
	cr_expect_eq(run("explain", "default", "list /tmp", "chmod /tmp"), 64);
	expect_in("out", "allowed: list /tmp\n");
	expect_in("error", "msp-policy: chmod /tmp: an operation is one of: read PATH");
	cr_expect_eq(run("explain", "nobody", "list /tmp"), 64);
	expect_in("error", "there is no profile nobody");
	cr_expect_eq(run("explain", "_helper", "list /tmp"), 64);
	cr_expect_eq(run("explain", "default"), 64);
	expect_in("error", "missing argument of explain");
}

Test(command, diff_says_by_its_exit_code_whether_there_is_a_difference)
{
	struct buffer text;

	write_text("good.yaml", "profiles:\n"
				"  - {name: same, extends: default}\n"
				"  - {name: other, extends: same, limits: {pids: 7}}\n");
	cr_expect_eq(run("diff", "default", "same", "--config", "good.yaml"), 0);
	text = read_text("out");
	cr_expect_eq(text.size, 0, "%s", text.bytes);
	buffer_done(&text);
	cr_expect_eq(run("diff", "--config", "good.yaml", "same", "other"), 1);
	expect_in("out", "+ limits: pids          7 (good.yaml:3)\n");
	cr_expect_eq(run("diff", "default", "nobody"), 64);
	cr_expect_eq(run("diff", "default"), 64);
	cr_expect_eq(run("diff", "default", "strict", "more"), 64);
}

Test(command, a_file_that_is_not_the_operators_is_refused)
{
	write_config("good.yaml", good_profile);
	cr_assert_eq(chmod("good.yaml", 0664), 0);
	cr_expect_eq(run("list", "--config", "good.yaml"), 78);
	expect_in("error", "good.yaml:1: others can write it");
	expect_in("error", "chmod go-w");
	cr_assert_eq(mkfifo("fifo", 0600), 0);
	cr_expect_eq(run("list", "--config", "fifo"), 78);
	expect_in("error", "fifo:1: not a regular file; expected one");
	cr_expect_eq(run("list", "--config", "/tmp"), 78);
	expect_in("error", "/tmp:1: not a regular file; expected one");
}

Test(command, a_file_that_cannot_be_read_is_refused)
{
	cr_expect_eq(run("check", "--config", "missing.yaml"), 78);
	expect_in("error",
		  "missing.yaml:1: cannot be read: No such file or directory (ENOENT); expected");
	if (geteuid() == 0)
		return; /* who reads everything */
	write_config("closed.yaml", good_profile);
	cr_assert_eq(chmod("closed.yaml", 0), 0);
	cr_expect_eq(run("check", "--config", "closed.yaml"), 78);
	expect_in(
		"error",
		"closed.yaml:1: cannot be read: Permission denied (EACCES); expected a file that");
}

Test(command, mistakes_in_use_are_64)
{
	cr_expect_eq(run(NULL), 64);
	cr_expect_eq(run("bake"), 64);
	expect_in("error", "unknown command bake");
	cr_expect_eq(run("check"), 64);
	expect_in("error", "name a file with --config");
	cr_expect_eq(run("check", "good.yaml"), 64);
	expect_in("error", "unexpected argument good.yaml");
	cr_expect_eq(run("check", "--config"), 64);
	expect_in("error", "missing value of --config");
	cr_expect_eq(run("list", "--config", "a", "--config", "b"), 64);
	expect_in("error", "given twice: --config");
	cr_expect_eq(run("list", "-o", "a"), 64);
	expect_in("error", "unknown option -o");
	cr_expect_eq(run("show"), 64);
	cr_expect_eq(run("show", "nobody"), 64);
	expect_in("error", "there is no profile nobody");
	cr_expect_eq(run("compile", "-o"), 64);
	cr_expect_eq(run("compile", "--fd", "out"), 64);
	expect_in("error", "--fd: no number of a descriptor: out");
	cr_expect_eq(run("compile", "--fd", "7", "-o", "a.policy"), 64);
}
