/* SPDX-License-Identifier: Apache-2.0
 *
 * What a request may say: it can narrow its profile, never widen it, and nothing malformed passes.
 */
#include "run/request.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/refusal.h"
#include "rig.h"

static struct ipc_execution_start command;
static struct ipc_code_start code;
static struct request request;
static char detail[IPC_LIST_MAX];

#define SET_BYTES(of, field, text)                                                                 \
	(memcpy((of).field, text, sizeof(text)), (of).field##_size = sizeof(text))

static void prepare(void)
{
	small_plan_open(&supervisor.plan);
	strncpy(command.profile, "default", sizeof(command.profile) - 1);
	SET_BYTES(command, argv, "ls\0-l");
	strncpy(code.profile, "default", sizeof(code.profile) - 1);
	strncpy(code.language, "python", sizeof(code.language) - 1);
}

static enum refusal ask(void)
{
	return request_command(&command, &request, detail);
}

static enum refusal ask_code(const char *language)
{
	memset(code.language, 0, sizeof(code.language));
	strncpy(code.language, language, sizeof(code.language) - 1);
	return request_code(&code, &request, detail);
}

static void expect_bytes(const uint8_t *bytes, uint32_t size, const char *expected,
			 size_t expected_size)
{
	cr_assert_eq(size, expected_size, "%u bytes", size);
	cr_assert_eq(memcmp(bytes, expected, size), 0);
}

#define EXPECT_BYTES(of, field, text)                                                              \
	expect_bytes((of)->field, (of)->field##_size, text, sizeof(text))

TestSuite(request, .init = prepare);

Test(request, a_command_passes)
{
	command.request = 7;
	cr_assert_eq(ask(), REFUSAL_NONE);
	cr_assert_eq(request.number, 7);
	cr_assert_eq(request.profile, 0);
	cr_assert_null(request.code_path);
	cr_assert_eq(request.spawn->use_tty, 0);
	cr_assert_str_eq(request.spawn->cwd, "/workspace");
	EXPECT_BYTES(request.spawn, argv, "ls\0-l");
	EXPECT_BYTES(request.spawn, environment, "A=1\0B=2");
}

Test(request, another_profile_is_another_number)
{
	memcpy(command.profile, "strict", sizeof("strict"));
	cr_assert_eq(ask(), REFUSAL_NONE);
	cr_assert_eq(request.profile, 1);
}

/* The plan says which one it is. */
Test(request, a_profile_without_its_hosts)
{
	small_plan.profiles[0].no_hosts = 1;
	cr_assert_eq(ask(), REFUSAL_NONE);
	cr_assert_eq(request.profile, 0);
	command.no_hosts = code.no_hosts = 1;
	cr_assert_eq(ask(), REFUSAL_NONE);
	cr_assert_eq(request.profile, 1);
	cr_assert_eq(ask_code("python"), REFUSAL_NONE);
	cr_assert_eq(request.profile, 1);
	command.profile[0] = '\0';
	cr_assert_eq(ask(), REFUSAL_NONE);
	cr_assert_eq(request.profile, 1, "of the default one");
}

Test(request, no_profile_is_the_default_one)
{
	command.profile[0] = '\0';
	code.profile[0] = '\0';
	cr_assert_eq(ask(), REFUSAL_NONE);
	cr_assert_eq(request.profile, 0);
	supervisor.default_profile = 1;
	small_plan.profiles[1].language_count = 0;
	cr_assert_eq(ask(), REFUSAL_NONE);
	cr_assert_eq(request.profile, 1);
	cr_assert_eq(ask_code("python"), REFUSAL_LANGUAGE_UNKNOWN, "which has no languages");
}

Test(request, unknown_and_internal_profiles_are_refused_with_the_others_names)
{
	static const char *const names[] = { "_helper", "Default", "defaul", "default2", " " };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		memset(command.profile, 0, sizeof(command.profile));
		strncpy(command.profile, names[i], sizeof(command.profile) - 1);
		cr_expect_eq(ask(), REFUSAL_PROFILE_UNKNOWN, "%s", names[i]);
	}
	memcpy(code.profile, "_helper", sizeof("_helper"));
	cr_assert_eq(ask_code("python"), REFUSAL_PROFILE_UNKNOWN);
}

Test(request, the_time_can_only_be_narrowed)
{
	static const struct {
		uint32_t wanted, given;
	} rows[] = { { 0, 30000 },     { 1, 1 },         { 30001, 30001 },
		     { 60000, 60000 }, { 60001, 60000 }, { UINT32_MAX, 60000 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		command.timeout_ms = code.timeout_ms = rows[i].wanted;
		cr_assert_eq(ask(), REFUSAL_NONE);
		cr_expect_eq(request.timeout_ms, rows[i].given, "%u", rows[i].wanted);
		cr_assert_eq(ask_code("python"), REFUSAL_NONE);
		cr_expect_eq(request.timeout_ms, rows[i].given, "%u", rows[i].wanted);
	}
}

Test(request, more_time_in_a_sandbox)
{
	command.timeout_ms = 0;
	(void)strcpy(command.sandbox, "box");
	cr_assert_eq(ask(), REFUSAL_NONE);
	cr_expect_eq(request.timeout_ms, 40000U);
	command.timeout_ms = 60001;
	cr_assert_eq(ask(), REFUSAL_NONE);
	cr_expect_eq(request.timeout_ms, 60000U);
}

/* Only a profile's own word takes a clock away, only a terminal's, and never a request's limit. */
Test(request, a_terminal_has_the_time_that_its_profile_says)
{
	static const struct {
		uint32_t of_profile, wanted, of_terminal, of_others;
	} rows[] = {
		{ 0, 0, 30000, 30000 },
		{ 0, UINT32_MAX, 60000, 60000 },
		{ 90000, 0, 90000, 30000 },
		{ 90000, 60001, 60000, 60000 },
		{ PLAN_WALL_NONE, 0, 0, 30000 },
		{ PLAN_WALL_NONE, 1, 1, 1 },
		{ PLAN_WALL_NONE, 60001, 60000, 60000 },
		{ PLAN_WALL_NONE, UINT32_MAX, 60000, 60000 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		small_plan.profiles[0].wall_terminal_ms = rows[i].of_profile;
		command.timeout_ms = code.timeout_ms = rows[i].wanted;
		command.use_tty = 1;
		cr_assert_eq(ask(), REFUSAL_NONE);
		cr_expect_eq(request.timeout_ms, rows[i].of_terminal, "row %zu", i);
		command.use_tty = 0;
		cr_assert_eq(ask(), REFUSAL_NONE);
		cr_expect_eq(request.timeout_ms, rows[i].of_others, "row %zu", i);
		cr_assert_eq(ask_code("python"), REFUSAL_NONE);
		cr_expect_eq(request.timeout_ms, rows[i].of_others, "row %zu", i);
	}
}

Test(request, the_directory_must_be_absolute)
{
	static const char *const bad[] = { "src", ".", "./", "../x", " /" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(command.cwd, 0, sizeof(command.cwd));
		strncpy(command.cwd, bad[i], sizeof(command.cwd) - 1);
		cr_expect_eq(ask(), REFUSAL_CWD, "%s", bad[i]);
	}
	memcpy(command.cwd, "/srv", sizeof("/srv"));
	cr_assert_eq(ask(), REFUSAL_NONE);
	cr_assert_str_eq(request.spawn->cwd, "/srv");
	memcpy(code.cwd, "srv", sizeof("srv"));
	cr_assert_eq(ask_code("python"), REFUSAL_CWD);
}

Test(request, the_directory_may_be_as_long_as_its_field)
{
	static char longer[IPC_PATH_MAX + 1];

	memset(command.cwd, '/', sizeof(command.cwd) - 1);
	cr_assert_eq(ask(), REFUSAL_NONE);
	cr_assert_str_eq(request.spawn->cwd, command.cwd);
	memset(longer, '/', sizeof(longer) - 1);
	small_plan.profiles[0].cwd = small_plan_put(longer, sizeof(longer));
	memset(command.cwd, 0, sizeof(command.cwd));
	cr_assert_eq(ask(), REFUSAL_CWD, "a plan's own");
}

Test(request, malformed_arguments_are_refused)
{
	command.argv_size = 0;
	cr_expect_eq(ask(), REFUSAL_ARGV, "none");
	command.use_shell = 1;
	cr_expect_eq(ask(), REFUSAL_ARGV, "none for the shell");
	SET_BYTES(command, argv, "ls\0-l");
	command.argv_size--;
	cr_expect_eq(ask(), REFUSAL_ARGV, "the last has no end");
	command.use_shell = 0;
	cr_expect_eq(ask(), REFUSAL_ARGV, "the last has no end");
	command.argv_size++;
	cr_expect_eq(ask(), REFUSAL_NONE, "control");
}

Test(request, arguments_may_fill_their_field_and_no_more)
{
	memset(command.argv, 'x', sizeof(command.argv));
	command.argv[IPC_ARGV_MAX - 1] = '\0';
	command.argv_size = IPC_ARGV_MAX;
	cr_assert_eq(ask(), REFUSAL_NONE);
	cr_assert_eq(request.spawn->argv_size, IPC_ARGV_MAX);
	command.use_shell = 1;
	cr_assert_eq(ask(), REFUSAL_ARGV, "the shell's do not fit");
	command.argv[IPC_ARGV_MAX - 1 - sizeof("/bin/sh\0-c")] = '\0';
	command.argv_size = IPC_ARGV_MAX - (uint32_t)sizeof("/bin/sh\0-c");
	cr_assert_eq(ask(), REFUSAL_NONE, "now they do");
	cr_assert_eq(request.spawn->argv_size, IPC_ARGV_MAX);
}

Test(request, the_shell_comes_first)
{
	SET_BYTES(command, argv, "echo $1\0zero\0one");
	command.use_shell = 1;
	cr_assert_eq(ask(), REFUSAL_NONE);
	EXPECT_BYTES(request.spawn, argv, "/bin/sh\0-c\0echo $1\0zero\0one");
}

Test(request, the_runner_comes_before_every_command)
{
	small_plan.profiles[0].runner_size = (uint32_t)sizeof("/bin/sh");
	SET_BYTES(command, argv, "ls\0-l");
	cr_assert_eq(ask(), REFUSAL_NONE);
	EXPECT_BYTES(request.spawn, argv, "/bin/sh\0ls\0-l");
	command.use_shell = 1;
	cr_assert_eq(ask(), REFUSAL_NONE);
	EXPECT_BYTES(request.spawn, argv, "/bin/sh\0-c\0ls\0-l");
	small_plan.profiles[0].shell_size = small_plan.profiles[0].runner_size;
	cr_expect_eq(ask(), REFUSAL_SHELL, "there is none behind the runner");
}

Test(request, variables_replace_the_profiles)
{
	SET_BYTES(command, environment, "A=9\0C=3\0AB=4");
	cr_assert_eq(ask(), REFUSAL_NONE);
	EXPECT_BYTES(request.spawn, environment, "A=9\0C=3\0AB=4\0B=2");
	SET_BYTES(command, environment, "AB=4");
	cr_assert_eq(ask(), REFUSAL_NONE);
	EXPECT_BYTES(request.spawn, environment, "AB=4\0A=1\0B=2");
	SET_BYTES(command, environment, "B=");
	cr_assert_eq(ask(), REFUSAL_NONE);
	EXPECT_BYTES(request.spawn, environment, "B=\0A=1");
}

Test(request, malformed_variables_are_refused)
{
	SET_BYTES(command, environment, "A=1\0PATH");
	cr_expect_eq(ask(), REFUSAL_ARGV, "no '='");
	SET_BYTES(command, environment, "=1");
	cr_expect_eq(ask(), REFUSAL_ARGV, "no name");
	SET_BYTES(command, environment, "A=1\0");
	cr_expect_eq(ask(), REFUSAL_ARGV, "an empty entry");
	SET_BYTES(command, environment, "A=1");
	command.environment_size--;
	cr_expect_eq(ask(), REFUSAL_ARGV, "no end");
	command.environment_size++;
	cr_expect_eq(ask(), REFUSAL_NONE, "control");
	SET_BYTES(code, environment, "PATH");
	cr_expect_eq(ask_code("python"), REFUSAL_ARGV);
}

Test(request, variables_may_fill_their_field_with_the_profiles)
{
	const uint32_t own = sizeof("A=1\0B=2");

	memset(command.environment, 'C', sizeof(command.environment));
	command.environment[1] = '=';
	command.environment_size = IPC_ENVIRONMENT_MAX - own;
	command.environment[command.environment_size - 1] = '\0';
	cr_assert_eq(ask(), REFUSAL_NONE);
	cr_assert_eq(request.spawn->environment_size, IPC_ENVIRONMENT_MAX);
	command.environment[command.environment_size - 1] = 'C';
	command.environment[command.environment_size++] = '\0';
	cr_assert_eq(ask(), REFUSAL_ARGV);
}

Test(request, nothing_of_one_request_is_left_for_the_next)
{
	SET_BYTES(command, environment, "SECRET=1");
	command.use_tty = 5;
	cr_assert_eq(ask(), REFUSAL_NONE);
	cr_assert_eq(request.spawn->use_tty, 1);
	cr_assert_eq(ask_code("python"), REFUSAL_NONE);
	cr_assert_eq(request.spawn->use_tty, 0);
	EXPECT_BYTES(request.spawn, environment, "A=1\0B=2");
	EXPECT_BYTES(request.spawn, argv, "python-second");
}

Test(request, code_runs_with_the_first_record_whose_program_exists)
{
	SET_BYTES(code, argv, "one\0two");
	cr_assert_eq(ask_code("python"), REFUSAL_NONE);
	EXPECT_BYTES(request.spawn, argv, "python-second\0one\0two");
	cr_assert_str_eq(request.code_path, "/tmp/code");
	code.argv_size = 0;
	cr_assert_eq(ask_code("bash"), REFUSAL_NONE);
	EXPECT_BYTES(request.spawn, argv, "bash-first");
	small_plan.languages[1].host_program = small_plan.languages[0].host_program;
	cr_assert_eq(ask_code("python"), REFUSAL_NONE);
	EXPECT_BYTES(request.spawn, argv, "python-third");
}

Test(request, code_in_a_sandbox_that_lasts_has_a_folder_of_its_own)
{
	static const char argv[] = "run\0/tmp/code\0-x";
	char first[64];

	small_plan.languages[3].argv = small_plan_put(argv, sizeof(argv));
	small_plan.languages[3].argv_size = sizeof(argv);
	SET_BYTES(code, argv, "one");
	strncpy(code.sandbox, "box", sizeof(code.sandbox) - 1);
	cr_assert_eq(ask_code("bash"), REFUSAL_NONE);
	cr_assert_eq(strncmp(request.code_path, "/tmp/", 5), 0);
	cr_assert_str_eq(strrchr(request.code_path, '/'), "/code");
	strncpy(first, request.code_path, sizeof(first) - 1);
	cr_assert_eq(memcmp(request.spawn->argv, "run", 4), 0);
	cr_assert_str_eq((const char *)request.spawn->argv + 4, first);
	cr_assert_eq(memcmp(request.spawn->argv + 5 + strlen(first), "-x\0one", 7), 0);
	cr_assert_eq(ask_code("bash"), REFUSAL_NONE);
	cr_assert_str_neq(request.code_path, first);
}

Test(request, languages_have_aliases)
{
	cr_assert_eq(ask_code("serpent"), REFUSAL_NONE);
	EXPECT_BYTES(request.spawn, argv, "python-second");
	cr_assert_eq(ask_code("snake"), REFUSAL_NONE);
	cr_assert_eq(ask_code("snak"), REFUSAL_LANGUAGE_UNKNOWN);
	cr_assert_eq(ask_code("snake2"), REFUSAL_LANGUAGE_UNKNOWN);
}

Test(request, an_unknown_language_is_refused_with_the_installed)
{
	cr_assert_eq(ask_code("cobol"), REFUSAL_LANGUAGE_UNKNOWN);
	cr_assert_str_eq(detail, "python, bash");
}

Test(request, a_missing_language_is_refused_with_the_installed)
{
	cr_assert_eq(ask_code("ruby"), REFUSAL_LANGUAGE_MISSING);
	cr_assert_str_eq(detail, "python, bash");
	small_plan.profiles[0].language_count = 1;
	cr_assert_eq(ask_code("python"), REFUSAL_LANGUAGE_MISSING);
	cr_assert_str_eq(detail, "");
}

Test(request, installed_languages_are_listed_once)
{
	uint8_t list[IPC_LIST_MAX];

	expect_bytes(list, request_list_languages(&small_plan.profiles[0], list), "python\0bash",
		     sizeof("python\0bash"));
}

Test(request, malformed_arguments_for_code_are_refused)
{
	SET_BYTES(code, argv, "one");
	code.argv_size--;
	cr_assert_eq(ask_code("python"), REFUSAL_ARGV);
	memset(code.argv, 'x', sizeof(code.argv));
	code.argv[IPC_ARGV_MAX - 1] = '\0';
	code.argv_size = IPC_ARGV_MAX;
	cr_assert_eq(ask_code("python"), REFUSAL_ARGV, "the language's own do not fit");
}
