/* SPDX-License-Identifier: Apache-2.0 */
#include "options/options.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/limits_mode.h"
#include "common/limits.h"
#include "launcher/host/bind.h"
#include "launcher/host/unix_socket.h"
#include "options/everywhere.h"
#include "options/sandbox_search.h"
#include "table.h"

struct target {
	bool is_loud;
	uint32_t timeout_ms;
	uint32_t limits;
	const char *profile;
	struct environment environment;
	struct bind_words binds;
};

static const char *set_place(void *member, const char *value)
{
	*(const char **)member = value ? value : "here";
	return NULL;
}

static const struct option_row rows[] = {
	{ .name = "place",
	  .argument = "DIR",
	  .set = set_place,
	  .offset = offsetof(struct target, profile),
	  .letter = 'p',
	  .is_optional = true },
	{ .name = "loud",
	  .argument = NULL,
	  .set = option_set_flag,
	  .offset = offsetof(struct target, is_loud) },
	{ .name = "timeout",
	  .argument = "SECONDS",
	  .set = option_set_time,
	  .offset = offsetof(struct target, timeout_ms) },
	{ .name = "limits",
	  .argument = "MODE",
	  .set = option_set_limits,
	  .offset = offsetof(struct target, limits) },
	{ .name = "profile",
	  .argument = "NAME",
	  .set = option_set_profile,
	  .offset = offsetof(struct target, profile) },
	{ .name = "env",
	  .argument = "K=V",
	  .set = option_set_environment,
	  .offset = offsetof(struct target, environment) },
	{ .name = "ro",
	  .argument = "HOST",
	  .set = option_set_bind,
	  .offset = offsetof(struct target, binds) },
};
static const struct option_table with_operands = { .rows = rows,
						   .count = sizeof(rows) / sizeof(rows[0]),
						   .has_operands = true };
static const struct option_table with_recent = { .rows = rows,
						 .count = sizeof(rows) / sizeof(rows[0]),
						 .has_operands = true,
						 .has_recent = true };
static const struct option_table without_operands = { .rows = rows,
						      .count = sizeof(rows) / sizeof(rows[0]) };

static struct target target;
static char text[OPTIONS_TEXT_MAX];
static int rest;

/* `words` ends with NULL. */
static enum options_result parse(const struct option_table *table, char *words[])
{
	int count = 0;

	while (words[count])
		count++;
	memset(&target, 0, sizeof(target));
	text[0] = '\0';
	rest = -1;
	return options_parse(table, count, words, &target, &rest, text);
}

#define W(word) ((char[]){ word })

Test(options, none)
{
	char *words[] = { W("run"), NULL };

	cr_expect_eq(parse(&with_operands, words), OPTIONS_OK);
	cr_expect_eq(rest, 1);
}

Test(options, both_forms_of_a_value)
{
	char *joined[] = { W("run"), W("--timeout=2.5"), NULL };
	char *apart[] = { W("run"), W("--timeout"), W("2.5"), NULL };

	cr_expect_eq(parse(&with_operands, joined), OPTIONS_OK);
	cr_expect_eq(target.timeout_ms, 2500U);
	cr_expect_eq(parse(&with_operands, apart), OPTIONS_OK);
	cr_expect_eq(target.timeout_ms, 2500U);
	cr_expect_eq(rest, 3);
}

Test(options, end_at_two_dashes)
{
	char *words[] = { W("run"), W("--loud"), W("--"), W("--timeout=1"), NULL };

	cr_expect_eq(parse(&with_operands, words), OPTIONS_OK);
	cr_expect(target.is_loud);
	cr_expect_eq(target.timeout_ms, 0U);
	cr_expect_eq(rest, 3);
}

Test(options, end_at_the_first_other_word)
{
	char *words[] = { W("run"), W("ls"), W("--loud"), NULL };

	cr_expect_eq(parse(&with_operands, words), OPTIONS_OK);
	cr_expect_not(target.is_loud);
	cr_expect_eq(rest, 1);
}

Test(options, a_single_dash_is_an_operand)
{
	char *words[] = { W("run"), W("-"), NULL };

	cr_expect_eq(parse(&with_operands, words), OPTIONS_OK);
	cr_expect_eq(rest, 1);
}

Test(options, help_wins)
{
	char *words[] = { W("run"), W("--help"), W("--nonsense"), NULL };
	char *brief[] = { W("run"), W("-h"), NULL };
	char *behind[] = { W("run"), W("--"), W("--help"), NULL };

	cr_expect_eq(parse(&with_operands, words), OPTIONS_HELP);
	cr_expect_eq(parse(&with_operands, brief), OPTIONS_HELP);
	cr_expect_eq(parse(&with_operands, behind), OPTIONS_OK);
}

Test(options, a_value_that_may_be_left_out)
{
	char *bare[] = { W("run"), W("-p"), W("ls"), NULL };
	char *brief[] = { W("run"), W("-p=dir"), NULL };
	char *named[] = { W("run"), W("--place=dir"), NULL };

	cr_expect_eq(parse(&with_operands, bare), OPTIONS_OK);
	cr_expect_str_eq(target.profile, "here");
	cr_expect_eq(rest, 2);
	cr_expect_eq(parse(&with_operands, brief), OPTIONS_OK);
	cr_expect_str_eq(target.profile, "dir");
	cr_expect_eq(parse(&with_operands, named), OPTIONS_OK);
	cr_expect_str_eq(target.profile, "dir");
}

Test(options, kept_runs_are_operands)
{
	static const char *const others[] = { "-0", "-01", "-100", "-1x", "-" };
	char *run[] = { W("diff"), W("--loud"), W("-12"), W("--loud"), NULL };
	uint32_t number = 0;

	cr_expect_eq(parse(&with_recent, run), OPTIONS_OK);
	cr_expect_eq(rest, 2);
	cr_expect_eq(parse(&with_operands, run), OPTIONS_WRONG);
	cr_expect(sandbox_is_recent("-12", &number));
	cr_expect_eq(number, 12U);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_expect_not(sandbox_is_recent(others[i], &number), "%s", others[i]);
}

Test(options, options_of_every_command)
{
	char *words[] = { W("run"), W("-q"), W("-C"), W("/"), W("ls"), NULL };
	char *wrong[] = { W("run"), W("-C"), W("/no/such"), NULL };

	cr_expect_eq(parse(&with_operands, words), OPTIONS_OK);
	cr_expect_eq(rest, 4);
	cr_expect(everywhere.is_quiet);
	cr_expect_str_eq(everywhere.directory, "/");
	cr_expect_eq(parse(&without_operands, wrong), OPTIONS_WRONG);
	cr_expect(strstr(text, "'/no/such'"));
}

static void expect_wrong(char *words[], const char *part)
{
	cr_expect_eq(parse(&with_operands, words), OPTIONS_WRONG);
	cr_expect(strstr(text, part), "'%s' says '%s'", text, part);
}

Test(options, unknown_ones_are_explained)
{
	char *near[] = { W("run"), W("--timeut=3"), NULL };
	char *far[] = { W("run"), W("--colour"), NULL };
	char *brief[] = { W("run"), W("-t"), NULL };
	char *prefix[] = { W("run"), W("--time"), NULL };

	expect_wrong(near, "did you mean '--timeout'");
	expect_wrong(far, "there is no option '--colour'");
	expect_wrong(brief, "there is no option '-t'");
	expect_wrong(prefix, "there is no option '--time'"); /* no abbreviations */
}

Test(options, values_that_are_missing_or_too_many)
{
	char *missing[] = { W("run"), W("--timeout"), NULL };
	char *surplus[] = { W("run"), W("--loud=yes"), NULL };
	char *empty[] = { W("run"), W("--loud="), NULL };

	expect_wrong(missing, "--timeout needs a value");
	expect_wrong(surplus, "--loud takes no value");
	expect_wrong(empty, "--loud takes no value");
}

Test(options, operands_where_there_are_none)
{
	char *words[] = { W("doctor"), W("--loud"), W("now"), NULL };

	cr_expect_eq(parse(&without_operands, words), OPTIONS_WRONG);
	cr_expect(strstr(text, "'now'"));
}

Test(options, long_values_do_not_overflow_the_text)
{
	static char word[100000];
	char *words[] = { W("run"), word, NULL };

	memset(word, 'x', sizeof(word) - 1);
	memcpy(word, "--timeout=", 10);
	cr_expect_eq(parse(&with_operands, words), OPTIONS_WRONG);
	cr_expect_lt(strlen(text), sizeof(text));
}

static uint32_t seconds(const char *value)
{
	uint32_t milliseconds = 0;

	return option_set_time(&milliseconds, value) ? 0 : milliseconds;
}

Test(option_values, seconds)
{
	cr_expect_eq(seconds("1"), 1000U);
	cr_expect_eq(seconds("0.5"), 500U);
	cr_expect_eq(seconds(".25"), 250U);
	cr_expect_eq(seconds("3."), 3000U);
	cr_expect_eq(seconds("0.001"), 1U);
	cr_expect_eq(seconds("0.0001"), 1U, "rounded up, not to no limit at all");
	cr_expect_eq(seconds("1.0000"), 1000U);
	cr_expect_eq(seconds("4294967"), 4294967000U);
	cr_expect_eq(seconds("007"), 7000U);
	cr_expect_eq(seconds("10s"), 10000U);
	cr_expect_eq(seconds("500ms"), 500U);
	cr_expect_eq(seconds("0.5ms"), 1U, "rounded up");
	cr_expect_eq(seconds("1.5m"), 90000U);
	cr_expect_eq(seconds("2h"), 7200000U);
	cr_expect_eq(seconds("49d"), 4233600000U);
	cr_expect_eq(seconds("4294967295ms"), UINT32_MAX);
}

Test(option_values, seconds_refused)
{
	static const char *const bad[] = {
		"",    "0",   "0.0",  ".",    "-1",          "+1",      " 1",
		"1 ",  "1e3", "1S",   "1..2", "1.2.3",       "4294968", "99999999999999999999999",
		"inf", "nan", "0x10", "1,5",  "s",           ".s",      "1 s",
		"1sm", "0ms", "50d",  "1w",   "4294967296ms"
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_eq(seconds(bad[i]), 0U, "'%s'", bad[i]);
}

Test(option_values, limits)
{
	uint32_t limits = 99;

	cr_expect_null(option_set_limits(&limits, "fallback"));
	cr_expect_eq(limits, (uint32_t)LIMITS_FALLBACK);
	cr_expect_null(option_set_limits(&limits, "required"));
	cr_expect_eq(limits, (uint32_t)LIMITS_CGROUP);
	cr_expect_not_null(option_set_limits(&limits, "Fallback"));
	cr_expect_not_null(option_set_limits(&limits, ""));
	cr_expect_not_null(option_set_limits(&limits, "none"));
}

Test(option_values, config)
{
	static char longer[IPC_PATH_MAX + 1];
	const char *path = NULL;

	cr_expect_null(option_set_config(&path, "mine.yaml"));
	cr_expect_str_eq(path, "mine.yaml");
	cr_expect_not_null(option_set_config(&path, ""));
	memset(longer, 'a', sizeof(longer) - 1);
	cr_expect_not_null(option_set_config(&path, longer));
}

Test(option_values, default_profile)
{
	const char *profile = "before";

	cr_assert_eq(unsetenv("MSP_DEFAULT_PROFILE"), 0);
	cr_expect(option_read_default_profile(&profile, text));
	cr_expect_str_eq(profile, "before");
	cr_assert_eq(setenv("MSP_DEFAULT_PROFILE", "", 1), 0);
	cr_expect(option_read_default_profile(&profile, text));
	cr_expect_str_eq(profile, "before");
	cr_assert_eq(setenv("MSP_DEFAULT_PROFILE", "strict", 1), 0);
	cr_expect(option_read_default_profile(&profile, text));
	cr_expect_str_eq(profile, "strict");
	cr_assert_eq(setenv("MSP_DEFAULT_PROFILE", "../strict", 1), 0);
	cr_expect_not(option_read_default_profile(&profile, text));
	cr_expect_not_null(strstr(text, "MSP_DEFAULT_PROFILE=../strict is refused"), "%s", text);
}

Test(option_values, profile)
{
	const char *profile = NULL;
	char name[65];

	cr_expect_null(option_set_profile(&profile, "python-dev"));
	cr_expect_str_eq(profile, "python-dev");
	cr_expect_not_null(option_set_profile(&profile, ""));
	cr_expect_not_null(option_set_profile(&profile, "-x"));
	cr_expect_not_null(option_set_profile(&profile, "a b"));
	cr_expect_not_null(option_set_profile(&profile, "../x"));
	memset(name, 'a', sizeof(name));
	name[64] = '\0';
	cr_expect_not_null(option_set_profile(&profile, name));
	name[63] = '\0';
	cr_expect_null(option_set_profile(&profile, name));
}

Test(option_values, environment)
{
	static struct environment environment;

	cr_expect_null(option_set_environment(&environment, "A=1"));
	cr_expect_null(option_set_environment(&environment, "_B2="));
	cr_expect_null(option_set_environment(&environment, "C=a=b c"));
	cr_expect_eq(environment.size, 4U + 5U + 8U);
	cr_expect_arr_eq(environment.bytes, "A=1\0_B2=\0C=a=b c", environment.size);
}

Test(option_values, environment_refused)
{
	static struct environment environment;
	static const char *const bad[] = { "",     "=",     "=1",    "A",
					   "1A=2", "A B=1", "A-B=1", "\xc3\xa9=1" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_not_null(option_set_environment(&environment, bad[i]), "'%s'", bad[i]);
	cr_expect_eq(environment.size, 0U);
	cr_expect_null(option_set_environment(&environment, "PATH=/x"));
	cr_expect_null(option_set_environment(&environment, "PATH2=/x"), "a name of its own");
	cr_expect_not_null(option_set_environment(&environment, "PATH=/y"), "twice");
}

Test(option_values, environment_has_an_end)
{
	static struct environment environment;
	static char entry[IPC_ENVIRONMENT_MAX + 8];

	memset(entry, 'x', sizeof(entry) - 1);
	entry[1] = '=';
	cr_expect_not_null(option_set_environment(&environment, entry), "one that is too long");
	entry[IPC_ENVIRONMENT_MAX - 1] = '\0';
	cr_expect_null(option_set_environment(&environment, entry), "one that just fits");
	cr_expect_eq(environment.size, (uint32_t)IPC_ENVIRONMENT_MAX);
	cr_expect_not_null(option_set_environment(&environment, "A="), "nothing after that");
}

Test(option_values, binds_have_an_end)
{
	static struct bind_words binds;

	for (int i = 0; i < BINDS_MAX; i++)
		cr_expect_null(option_set_bind(&binds, "/x"));
	cr_expect_not_null(option_set_bind(&binds, "/x"));
	cr_expect_eq(binds.count, (uint32_t)BINDS_MAX);
}

Test(option_values, inside_path)
{
	const char *path = NULL;

	cr_expect_null(option_set_inside_path(&path, "/workspace"));
	cr_expect_not_null(option_set_inside_path(&path, "workspace"));
	cr_expect_not_null(option_set_inside_path(&path, ""));
}

Test(option_values, account)
{
	const char *account = NULL;

	cr_expect_null(option_set_account(&account, "msp"));
	cr_expect_not_null(option_set_account(&account, ""));
	cr_expect_not_null(option_set_account(&account, "a:b"));
	cr_expect_not_null(option_set_account(&account, "-f"));
}

Test(command, every_one_is_complete)
{
	cr_expect_eq(command_count, 41);
	for (size_t i = 0; i < command_count; i++) {
		const struct command *command = commands[i];

		cr_expect_eq(command_find(command->name), command);
		cr_expect_not_null(command->run);
		cr_expect_gt(strlen(command->summary), 0U);
		cr_expect_gt(strlen(command->help), 0U);
		for (size_t j = 0; j < command->options.count; j++) {
			cr_expect_not_null(command->options.rows[j].set);
			cr_expect_gt(strlen(command->options.rows[j].help), 0U);
		}
		cr_expect_leq(command->actions.count, (size_t)COMMAND_ACTIONS_MAX);
	}
	cr_expect_null(command_find("export"));
}

Test(command, flags_take_no_value_and_others_do)
{
	for (size_t i = 0; i < command_count; i++) {
		const struct option_table *table = &commands[i]->options;

		for (size_t j = 0; j < table->count; j++)
			cr_expect_eq(table->rows[j].set == option_set_flag,
				     table->rows[j].argument == NULL, "%s --%s", commands[i]->name,
				     table->rows[j].name);
	}
}

static const char *memory(const char *value, uint64_t *ret)
{
	*ret = 1;
	return option_set_memory(ret, value);
}

Test(options, sizes_of_memory)
{
	static const struct {
		const char *value;
		uint64_t bytes;
	} good[] = {
		{ "none", 0 },
		{ "0", 0 },
		{ "0G", 0 },
		{ "16777216", 16777216 },
		{ "16M", 16777216 },
		{ "16384K", 16777216 },
		{ "8G", (uint64_t)8 << 30 },
		{ "1024T", (uint64_t)1 << 50 },
	};
	static const char *const bad[] = {
		"",
		"G",
		"-1",
		"8g",
		"8GB",
		"8 G",
		" 8G",
		"1.5G",
		"1M",
		"16777215",
		"+8G",
		"1025T",
		"99999999999999999999",
		"None",
		"8G8",
	};
	uint64_t bytes;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_expect_null(memory(good[i].value, &bytes), "%s", good[i].value);
		cr_expect_eq(bytes, good[i].bytes, "%s", good[i].value);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_expect_not_null(memory(bad[i], &bytes), "%s", bad[i]);
		cr_expect_eq(bytes, 1UL, "%s: untouched", bad[i]);
	}
}

Test(options, numbers_of_executions)
{
	static const char *const bad[] = { "", "0", "1025", "-1", "1x", "1 ", "4294967297" };
	uint32_t number = 7;

	cr_expect_null(option_set_executions(&number, "1"));
	cr_expect_eq(number, 1U);
	cr_expect_null(option_set_executions(&number, "1024"));
	cr_expect_eq(number, 1024U);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_expect_not_null(option_set_executions(&number, bad[i]), "%s", bad[i]);
		cr_expect_eq(number, 1024U, "%s: untouched", bad[i]);
	}
}

Test(options, paths_of_sockets)
{
	static const char *const bad[] = { "", "s", "./s", "/", "/a/", "/a/.", "/a/.." };
	static char most[80] = "/tmp/";
	const char *path = NULL;

	cr_expect_null(option_set_socket(&path, "/s"));
	cr_expect_str_eq(path, "/s");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_not_null(option_set_socket(&path, bad[i]), "%s", bad[i]);
	memset(most + 5, 'x', UNIX_SOCKET_NAME_MAX - 1);
	cr_expect_null(option_set_socket(&path, most));
	most[5 + UNIX_SOCKET_NAME_MAX - 1] = 'x';
	cr_expect_not_null(option_set_socket(&path, most));
}
