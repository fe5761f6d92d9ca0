/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that `msp setup` runs, and files that it makes.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "setup/perform.h"

static char text[PERFORM_TEXT_MAX];

static int run_shell(const char *script)
{
	char shell[] = "sh";
	char option[] = "-c";
	char line[256];
	char *const words[] = { shell, option, line, NULL };

	(void)snprintf(line, sizeof(line), "%s", script);
	return perform_run(words, 7, text);
}

Test(perform, a_program_works_or_says_how_it_ended)
{
	cr_expect_eq(run_shell("exit 0"), 0);
	cr_expect_eq(run_shell("exit 3"), -1);
	cr_expect_str_eq(text, "exit code 3");
	cr_expect_eq(run_shell("kill -9 $$"), -1);
	cr_expect_str_eq(text, "ended by signal 9");
}

Test(perform, the_environment_is_clean_and_there_is_no_input)
{
	cr_assert_eq(setenv("LD_PRELOAD_MARK", "x", 1), 0);
	cr_assert_eq(setenv("PATH", "/tmp", 1), 0);
	cr_expect_eq(run_shell("test -z \"$LD_PRELOAD_MARK\""), 0);
	cr_expect_eq(run_shell("test \"$PATH\" = /usr/sbin:/usr/bin:/sbin:/bin"), 0);
	cr_expect_eq(run_shell("test \"$XDG_RUNTIME_DIR\" = /run/user/7"), 0);
	cr_expect_eq(run_shell("! read line"), 0);
}

Test(perform, a_program_of_the_callers_path_is_not_found)
{
	char folder[] = "/tmp/msp-test-XXXXXX";
	char path[256];
	char name[] = "msp-no-such-program";
	char *const words[] = { name, NULL };
	int fd;

	cr_assert_not_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
	cr_assert_geq(fd, 0);
	(void)close(fd);
	cr_assert_eq(setenv("PATH", folder, 1), 0);
	cr_expect_eq(perform_run(words, 7, text), -1);
	cr_expect_not_null(strstr(text, "it is not in /usr/sbin:"), "%s", text);
	cr_expect(perform_find("sh", path, sizeof(path)));
	cr_expect_eq(path[0], '/');
	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	cr_expect_eq(unlink(path), 0);
	cr_expect_eq(rmdir(folder), 0);
}

Test(perform, a_file_is_made_once)
{
	char folder[] = "/tmp/msp-test-XXXXXX";
	char below[256];
	char path[300];
	char content[16] = "";
	int fd;

	cr_assert_not_null(mkdtemp(folder));
	(void)snprintf(below, sizeof(below), "%s/user@.service.d", folder);
	(void)snprintf(path, sizeof(path), "%s/a.conf", below);
	cr_expect_eq(perform_write(path, "one\n", text), 0, "%s", text);
	cr_expect_eq(perform_write(path, "two\n", text), -1);
	cr_expect_str_eq(text, "it is there already, and stays as it is");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_expect_eq(read(fd, content, sizeof(content) - 1), 4);
	cr_expect_str_eq(content, "one\n");
	(void)close(fd);
	cr_expect(perform_await(path));
	cr_expect_eq(unlink(path), 0);
	cr_expect_eq(rmdir(below), 0); /* no other file is left */
	cr_expect_eq(rmdir(folder), 0);
	cr_expect_eq(perform_write("/proc/no/such", "x", text), -1);
	cr_expect_not_null(strstr(text, "/proc/no/such"), "%s", text);
}
