/* SPDX-License-Identifier: Apache-2.0
 *
 * Which configuration is in force: the order of the places, and that nothing that is there is
 * passed over.
 */
#include "launcher/start/config.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc/limits_mode.h"
#include "common/text/format.h"

#define NOBODY 65534

static char folder[64];
static char home[96];
static char home_file[128];
static char system_file[96];
static char other_file[96];
static struct config_places places;
static char found[IPC_PATH_MAX];
static char text[CONFIG_TEXT_MAX];

static void write_file(const char *path)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	(void)close(fd);
}

static void make_folder(const char *path)
{
	cr_assert_eq(mkdir(path, 0755), 0, "%s: %s", path, strerror(errno));
}

/* A home with a configuration, one for all, and one more. */
static void make_places(void)
{
	char path[128];

	format_text(folder, sizeof(folder), "/tmp/msp-config-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chmod(folder, 0755), 0);
	format_text(home, sizeof(home), "%s/home", folder);
	format_text(home_file, sizeof(home_file), "%s/" CONFIG_HOME_FILE, home);
	format_text(system_file, sizeof(system_file), "%s/system.yaml", folder);
	format_text(other_file, sizeof(other_file), "%s/other.yaml", folder);
	make_folder(home);
	format_text(path, sizeof(path), "%s/.config", home);
	make_folder(path);
	format_text(path, sizeof(path), "%s/.config/msp", home);
	make_folder(path);
	write_file(home_file);
	write_file(system_file);
	write_file(other_file);
	places = (struct config_places){ .home = home, .system = system_file };
}

static void remove_places(void)
{
	char command[96];

	format_text(command, sizeof(command), "rm -rf '%s'", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(config, .init = make_places, .fini = remove_places);

static void expect_found(const char *path)
{
	text[0] = '\0';
	cr_expect_eq(config_search(&places, found, text), 0, "%s", text);
	cr_expect_str_eq(found, path);
}

static void expect_refused(const char *path, const char *why)
{
	cr_expect_eq(config_search(&places, found, text), -1, "%s", found);
	cr_expect(strstr(text, path), "%s", text);
	cr_expect(strstr(text, why), "%s", text);
}

Test(config, the_order)
{
	places.given = other_file;
	places.variable = "/no/such/file";
	expect_found(other_file);
	places.given = NULL;
	places.variable = other_file;
	expect_found(other_file);
	places.variable = NULL;
	expect_found(home_file);
	cr_assert_eq(unlink(home_file), 0);
	expect_found(system_file);
	cr_assert_eq(unlink(system_file), 0);
	expect_found("");
}

Test(config, nothing_anywhere)
{
	places = (struct config_places){ 0 };
	expect_found("");
}

Test(config, an_empty_variable_is_none)
{
	places.variable = "";
	expect_found(home_file);
}

Test(config, a_home_that_is_not_there)
{
	places.home = "/nonexistent";
	expect_found(system_file);
	places.home = other_file; /* and one that is no folder */
	expect_found(system_file);
}

Test(config, what_was_named_must_be_there)
{
	places.given = "/no/such/file";
	expect_refused("/no/such/file", "No such file");
	places.given = NULL;
	places.variable = "/no/such/variable";
	expect_refused("/no/such/variable, which MSP_CONFIG names,", "No such file");
}

Test(config, the_variable_is_absolute)
{
	cr_assert_eq(chdir(folder), 0);
	places.variable = "other.yaml";
	expect_refused("MSP_CONFIG=other.yaml", "an absolute path");
	places.variable = NULL;
	places.given = "other.yaml"; /* somebody typed it */
	expect_found("other.yaml");
	cr_assert_eq(chdir("/"), 0);
}

Test(config, longer_than_a_path)
{
	static char longer[IPC_PATH_MAX + 1];

	memset(longer, 'a', sizeof(longer) - 1);
	longer[0] = '/';
	places.given = longer;
	expect_refused("/aaa", "File name too long");
	places.given = NULL;
	places.home = longer;
	expect_refused("/aaa", "File name too long");
}

static void replace(const char *path)
{
	cr_assert_eq(unlink(path), 0);
}

Test(config, a_folder_is_no_configuration)
{
	replace(home_file);
	make_folder(home_file);
	expect_refused(home_file, "Is a directory");
}

Test(config, a_fifo_is_not_waited_for)
{
	replace(home_file);
	cr_assert_eq(mkfifo(home_file, 0600), 0);
	(void)alarm(20);
	expect_refused(home_file, "no regular file");
	places.given = home_file;
	expect_refused(home_file, "no regular file");
}

Test(config, a_link_leads_to_its_target)
{
	replace(home_file);
	cr_assert_eq(symlink(other_file, home_file), 0);
	expect_found(home_file);
	replace(home_file);
	cr_assert_eq(symlink(folder, home_file), 0);
	expect_refused(home_file, "Is a directory");
}

Test(config, a_link_in_a_circle)
{
	replace(home_file);
	cr_assert_eq(symlink(home_file, home_file), 0);
	expect_refused(home_file, "symbolic links");
}

/* Root reads everything. */
static int refused_to_nobody(const char *path)
{
	int status = -1;
	const pid_t pid = fork();

	if (pid == 0) {
		if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
			_exit(2);
		_exit(config_search(&places, found, text) == -1 && strstr(text, path) &&
				      strstr(text, "Permission denied")
			      ? 0
			      : 1);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

Test(config, what_cannot_be_read_is_not_passed_over)
{
	cr_assert_eq(chmod(home_file, 0), 0);
	cr_expect_eq(refused_to_nobody(home_file), 0);
	cr_assert_eq(chmod(home_file, 0644), 0);
	cr_assert_eq(chmod(home, 0), 0);
	cr_expect_eq(refused_to_nobody(home_file), 0, "nor what cannot be reached");
	cr_assert_eq(chmod(home, 0755), 0);
	places.home = NULL;
	cr_assert_eq(chmod(system_file, 0), 0);
	cr_expect_eq(refused_to_nobody(system_file), 0);
}

/* --- from the environment ------------------------------------------------------------------- */

/* As this environment has it, for a user who is not root. */
static int finds(const char *expected)
{
	int status = -1;
	const pid_t pid = fork();

	if (pid == 0) {
		if (geteuid() == 0 && (chown(home, NOBODY, NOBODY) != 0 || setgid(NOBODY) != 0 ||
				       setuid(NOBODY) != 0))
			_exit(2);
		_exit(config_find(NULL, found, text) == 0 && strcmp(found, expected) == 0 ? 0 : 1);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

Test(config, the_environment_names_the_places)
{
	(void)unsetenv("MSP_CONFIG");
	cr_assert_eq(setenv("HOME", home, 1), 0);
	cr_expect_eq(finds(home_file), 0);
	cr_assert_eq(setenv("MSP_CONFIG", "", 1), 0);
	cr_expect_eq(finds(home_file), 0);
	cr_assert_eq(setenv("MSP_CONFIG", other_file, 1), 0);
	cr_expect_eq(finds(other_file), 0);
}

Test(config, root_takes_nothing_from_a_home)
{
	(void)unsetenv("MSP_CONFIG");
	cr_assert_eq(setenv("HOME", home, 1), 0);
	if (geteuid() != 0)
		cr_skip_test("needs root");
	if (access(CONFIG_SYSTEM_FILE, F_OK) == 0)
		cr_skip_test("this machine has a configuration");
	cr_assert_eq(config_find(NULL, found, text), 0);
	cr_expect_str_eq(found, "");
}

/* --- what is in force ----------------------------------------------------------------------- */

Test(config, a_named_one)
{
	struct config config = CONFIG_UNREAD;

	(void)unsetenv("MSP_CONFIG");
	cr_expect_not(config_is_named(&config));
	cr_assert_eq(setenv("MSP_CONFIG", "", 1), 0);
	cr_expect_not(config_is_named(&config));
	cr_assert_eq(setenv("MSP_CONFIG", "/x", 1), 0);
	cr_expect(config_is_named(&config));
	(void)unsetenv("MSP_CONFIG");
	config.given = "x";
	cr_expect(config_is_named(&config));
}

Test(config, the_command_line_says_it_first)
{
	struct config config = CONFIG_UNREAD;

	cr_expect_eq(config_limits(&config, LIMITS_FALLBACK), (uint32_t)LIMITS_FALLBACK);
	cr_expect_eq(config_limits(&config, LIMITS_CGROUP), (uint32_t)LIMITS_CGROUP);
	cr_expect_eq(config_limits(&config, LIMITS_UNSAID), (uint32_t)LIMITS_CGROUP);
	cr_expect_null(config_run_as(&config));
	cr_expect_null(config_plan(&config));
}
