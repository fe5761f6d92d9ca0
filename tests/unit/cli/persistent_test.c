/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands about persistent sandboxes read and print, without a supervisor.
 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands/chosen.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "common/ipc/workspace_mode.h"
#include "common/limits.h"
#include "options/options.h"
#include "options/sandbox_search.h"
#include "show/figures.h"
#include "show/quote.h"
#include "show/refusal.h"
#include "show/sandbox_text.h"

/* --- options -------------------------------------------------------------------------------- */

static uint32_t duration(const char *value)
{
	uint32_t seconds = 0;

	return option_set_long_time(&seconds, value) ? 0 : seconds;
}

Test(persistent_options, durations)
{
	cr_expect_eq(duration("1"), 1U);
	cr_expect_eq(duration("90s"), 90U);
	cr_expect_eq(duration("30m"), 1800U);
	cr_expect_eq(duration("12h"), 43200U);
	cr_expect_eq(duration("7d"), 604800U);
	cr_expect_eq(duration("49710d"), 4294944000U);
	cr_expect_eq(duration("1.5h"), 5400U);
	cr_expect_eq(duration("1500ms"), 2U, "rounded up");
}

Test(persistent_options, what_is_no_duration)
{
	static const char *const wrong[] = { "",
					     "0",
					     "0d",
					     "d",
					     "-1",
					     "1w",
					     "7D",
					     "1.h.",
					     "1 h",
					     "7dd",
					     "7d ",
					     "49711d",
					     "99999999999999999999d" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_expect_eq(duration(wrong[i]), 0U, "'%s'", wrong[i]);
}

Test(persistent_options, sandboxes)
{
	const char *value = NULL;
	char long_one[70];

	memset(long_one, 'a', sizeof(long_one));
	cr_expect_null(option_set_sandbox(&value, "fix-auth_2.1"));
	cr_expect_str_eq(value, "fix-auth_2.1");
	long_one[63] = '\0';
	cr_expect_null(option_set_sandbox(&value, long_one));
	long_one[63] = 'a';
	long_one[64] = '\0';
	cr_expect_not_null(option_set_sandbox(&value, long_one));
	cr_expect_not_null(option_set_sandbox(&value, ""));
	cr_expect_not_null(option_set_sandbox(&value, "-x"));
	cr_expect_not_null(option_set_sandbox(&value, ".."));
	cr_expect_not_null(option_set_sandbox(&value, "a/b"));
	cr_expect_not_null(option_set_sandbox(&value, "a b"));
	cr_expect_not_null(option_set_sandbox(&value, "a\n"));
	cr_expect_not_null(option_set_sandbox(&value, "\xc3\xa4"));
}

Test(persistent_options, a_checkpoints_name_is_no_number)
{
	const char *value = NULL;

	cr_expect_null(option_set_label(&value, "before-2"));
	cr_expect_not_null(option_set_label(&value, "12"));
	cr_expect_not_null(option_set_label(&value, ""));
	cr_expect_not_null(strstr(option_set_label(&value, "6zzzzzzzzzzzzzzzzzzzzzzzzz"),
				  "the form of an id"));
	cr_expect_null(option_set_label(&value, "6zzzzzzzzzzzzzzzzzzzzzzzz"), "shorter");
	cr_expect_null(option_set_checkpoint(&value, "12"));
	cr_expect_not_null(option_set_checkpoint(&value, "1/2"));
}

/* --- paths ---------------------------------------------------------------------------------- */

static struct chosen chosen;

/* The directory of the workspace where the person is. */
static const char *below = "";

static const char *add(const char *path)
{
	memset(&chosen, 0, sizeof(chosen));
	return chosen_add(&chosen, below, path);
}

static void expect_chosen(const char *path, const char *expected)
{
	cr_expect_null(add(path), "'%s'", path);
	cr_expect_str_eq(chosen.bytes, expected, "'%s' became '%s'", path, chosen.bytes);
	cr_expect_eq(chosen.size, strlen(expected) + 1);
	cr_expect_not(chosen.is_all);
}

Test(chosen, paths_are_made_plain)
{
	expect_chosen("src/main.c", "src/main.c");
	expect_chosen("./src//sub/", "src/sub");
	expect_chosen("/workspace/src/./main.c", "src/main.c");
	expect_chosen("a b\n\xff", "a b\n\xff");
	expect_chosen("..a/...", "..a/...");
	expect_chosen("workspace", "workspace");
	expect_chosen("a/../b/c/../d", "b/d");
}

Test(chosen, paths_are_relative_to_the_current_directory)
{
	below = "/src/one";
	expect_chosen("main.c", "src/one/main.c");
	expect_chosen("../two", "src/two");
	expect_chosen("../../top", "top");
	expect_chosen(".", "src/one");
	expect_chosen("/workspace/main.c", "main.c");
	cr_expect_null(add("../.."));
	cr_expect(chosen.is_all);
	cr_expect_not_null(add("../../.."));
	cr_expect_not_null(add("../../../src/one"));
	cr_expect_not_null(add("/workspace/.."));
}

Test(chosen, the_workspace_itself_is_all)
{
	static const char *const all[] = { ".", "./", "././/", "/workspace", "/workspace/" };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cr_expect_null(add(all[i]));
		cr_expect(chosen.is_all, "'%s'", all[i]);
	}
}

Test(chosen, what_leads_elsewhere_is_refused)
{
	char long_one[IPC_PATH_MAX + 1];

	memset(long_one, 'a', sizeof(long_one));
	long_one[IPC_PATH_MAX] = '\0';
	cr_expect_not_null(add(""));
	cr_expect_not_null(add(".."));
	cr_expect_not_null(add("a/../../b"));
	cr_expect_not_null(add("/etc/passwd"));
	cr_expect_not_null(add("/workspace/../etc"));
	cr_expect_not_null(add("/workspaces/x"));
	cr_expect_not_null(add(long_one));
}

Test(chosen, several)
{
	memset(&chosen, 0, sizeof(chosen));
	cr_expect_null(chosen_add(&chosen, "", "a"));
	cr_expect_null(chosen_add(&chosen, "", "b/c"));
	cr_expect_eq(chosen.size, 6U);
	cr_expect_arr_eq(chosen.bytes, "a\0b/c", 6);
}

/* --- ids ------------------------------------------------------------------------------------ */

static struct ipc_sandbox_info sandbox(const char *id, const char *owner)
{
	struct ipc_sandbox_info info = { .request = 1 };

	(void)snprintf(info.id, sizeof(info.id), "%s", id);
	(void)snprintf(info.owner, sizeof(info.owner), "%s", owner);
	(void)snprintf(info.profile, sizeof(info.profile), "default");
	return info;
}

Test(sandbox_search, a_name_before_the_beginning_of_an_id)
{
	const struct ipc_sandbox_info infos[] = {
		{ .id = "2rgbftc2erh915t6ckfprby7fr", .name = "other", .is_live = 1 },
		{ .id = "3rgbftc2erh915t6ckfprby7fr", .name = "2rgb" },
		{ .id = "2rgbqqqqerh915t6ckfprby7fr", .name = "" },
	};
	struct sandbox_search search;

	(void)sandbox_search_begin(&search, "2rgb");
	for (size_t i = 0; i < 3; i++)
		sandbox_search_add_named(&search, &infos[i]);
	cr_expect_eq(search.found, 1U);
	cr_expect_str_eq(search.id, infos[1].id);
	(void)sandbox_search_begin(&search, "2rgbf");
	for (size_t i = 0; i < 3; i++)
		sandbox_search_add_named(&search, &infos[i]);
	cr_expect_eq(search.found, 1U);
	cr_expect_str_eq(search.name, "other");
	cr_expect(search.is_live);
	(void)sandbox_search_begin(&search, "nosuch");
	sandbox_search_add_named(&search, &infos[0]);
	cr_expect_eq(search.found, 0U);
}

Test(sandbox_search, only_what_can_begin_an_id)
{
	struct sandbox_search search;

	cr_expect(sandbox_search_begin(&search, "2rgb"));
	cr_expect(sandbox_search_begin(&search, "2rgbftc2erh915t6ckfprby7fr"));
	cr_expect_not(sandbox_search_begin(&search, "2rg"), "too short");
	cr_expect_not(sandbox_search_begin(&search, ""));
	cr_expect_not(sandbox_search_begin(&search, "build"), "no u, i, l");
	cr_expect_not(sandbox_search_begin(&search, "2RGB"));
	cr_expect_not(sandbox_search_begin(&search, "2rgbftc2erh915t6ckfprby7fr0"), "too long");
}

Test(sandbox_search, one_several_none)
{
	const struct ipc_sandbox_info first = sandbox("2rgbftc2erh915t6ckfprby7fr", "");
	const struct ipc_sandbox_info second = sandbox("2rgbaaaaaaaaaaaaaaaaaaaaaa", "laptop");
	struct ipc_execution_refused refused;
	struct sandbox_search search;

	cr_assert(sandbox_search_begin(&search, "2rgba"));
	sandbox_search_add(&search, &first);
	sandbox_search_add(&search, &second);
	cr_expect_eq(search.found, 1U);
	cr_expect_str_eq(search.id, second.id);
	cr_expect_str_eq(search.owner, "laptop");
	cr_assert(sandbox_search_begin(&search, "2rgb"));
	sandbox_search_add(&search, &first);
	sandbox_search_add(&search, &second);
	sandbox_search_explain(&search, &refused);
	cr_expect_eq(refused.reason, (uint32_t)REFUSAL_SANDBOX_UNKNOWN);
	cr_expect(strstr(refused.detail, "2 ids begin with it"));
	cr_assert(sandbox_search_begin(&search, "3333"));
	sandbox_search_add(&search, &first);
	sandbox_search_explain(&search, &refused);
	cr_expect_str_empty(refused.detail);
}

/* --- quoting -------------------------------------------------------------------------------- */

Test(quote, nothing_that_a_terminal_obeys, .init = cr_redirect_stdout)
{
	static const char bytes[] = "a\tb\x1b[31m\r\x7f\xc2\x9b\xff\xc3\xa4\0z";

	quote_print_text(bytes, sizeof(bytes) - 1, true);
	(void)fflush(stdout);
	cr_assert_stdout_eq_str("a\tb^[[31m^M^?<U+009B><FF>\xc3\xa4^@z");
}

Test(quote, nothing_that_nobody_sees, .init = cr_redirect_stdout)
{
	static const char bytes[] = "a\xe2\x80\xae"     /* override */
				    "b\xe2\x81\xa6"     /* isolate */
				    "c\xe2\x80\x8b"     /* zero-width space */
				    "d\xf3\xa0\x81\x81" /* a tag */
				    "e\xd7\xa9\xe4\xb8\xad\xcc\x81";

	quote_print_text(bytes, sizeof(bytes) - 1, true);
	(void)fflush(stdout);
	cr_assert_stdout_eq_str("a<U+202E>b<U+2066>c<U+200B>d<U+E0041>"
				"e\xd7\xa9\xe4\xb8\xad\xcc\x81");
}

Test(quote, for_a_program_hidden_characters_stay, .init = cr_redirect_stdout)
{
	static const char bytes[] = "a\xe2\x80\xae\xef\xbb\xbf\xc2\x9b";

	quote_print_text(bytes, sizeof(bytes) - 1, false);
	(void)fflush(stdout);
	cr_assert_stdout_eq_str("a\xe2\x80\xae\xef\xbb\xbf<U+009B>");
}

/* --- figures -------------------------------------------------------------------------------- */

Test(figures, bytes)
{
	char text[FIGURES_TEXT_MAX];

	cr_expect_str_eq(figures_bytes(0, text), "0 B");
	cr_expect_str_eq(figures_bytes(1023, text), "1023 B");
	cr_expect_str_eq(figures_bytes(1024, text), "1.0 KiB");
	cr_expect_str_eq(figures_bytes(1536, text), "1.5 KiB");
	cr_expect_str_eq(figures_bytes(12U << 20, text), "12 MiB");
	cr_expect_str_eq(figures_bytes(UINT64_MAX, text), "16777215 TiB");
}

Test(figures, moments)
{
	char text[FIGURES_TEXT_MAX];

	cr_expect_str_eq(figures_moment(100, 100, text), "now");
	cr_expect_str_eq(figures_moment(60, 100, text), "40 s ago");
	cr_expect_str_eq(figures_moment(0, 119, text), "119 s ago");
	cr_expect_str_eq(figures_moment(0, 180, text), "3 min ago");
	cr_expect_str_eq(figures_moment(7200, 0, text), "in 2 h");
	cr_expect_str_eq(figures_moment(6 * 86400 + 5, 0, text), "in 6 days");
}

/* --- the table ------------------------------------------------------------------------------ */

Test(sandbox_text, states)
{
	struct ipc_sandbox_info info = { .request = 1 };
	char text[IPC_NAME_MAX];

	cr_expect_str_eq(sandbox_state(&info, text), "cold");
	info.is_live = 1;
	cr_expect_str_eq(sandbox_state(&info, text), "live");
	info.executions = 3;
	cr_expect_str_eq(sandbox_state(&info, text), "running 3");
	info.is_elsewhere = 1;
	cr_expect_str_eq(sandbox_state(&info, text), "elsewhere");
	info.is_damaged = 1;
	cr_expect_str_eq(sandbox_state(&info, text), "damaged");
}

Test(sandbox_text, a_table, .init = cr_redirect_stdout)
{
	struct ipc_sandbox_info first = sandbox("2rgbftc2erh915t6ckfprby7fr", "");
	struct ipc_sandbox_info second = sandbox("3rgbftc2erh915t6ckfprby7fr", "laptop");
	struct rows rows = { .now_s = 100 };
	struct sandbox_list list = { 0 };

	first.used_s = 40;
	first.expires_s = 7300;
	second.used_s = 90;
	second.expires_s = 86400 * 2 + 200;
	second.disk_bytes = 4096;
	second.workspace_mode = WORKSPACE_READ;
	(void)snprintf(second.name, sizeof(second.name), "fix");
	(void)snprintf(second.workspace, sizeof(second.workspace), "/srv/a\nb");
	sandbox_list_add(&list, &first);
	sandbox_list_add(&list, &second);
	cr_assert_eq(sandbox_list_print(&list, &rows, false), 0);
	cr_assert_stdout_eq_str(
		"ID                          NAME  PROFILE  STATE  DISK     USED      EXPIRES    "
		"WORKSPACE\n"
		"3rgbftc2erh915t6ckfprby7fr  fix   default  cold   4.0 KiB  10 s ago  in 2 days  "
		"/srv/a^Jb (read-only)\n"
		"2rgbftc2erh915t6ckfprby7fr  -     default  cold   0 B      60 s ago  in 2 h     "
		"-\n");
}

/* --- refusals ------------------------------------------------------------------------------- */

static char *explained(uint32_t reason, const char *detail)
{
	static char line[1200];
	struct ipc_execution_refused refused = { .reason = reason };
	const struct refusal_words words = { .sandbox = "SB",
					     .name = "NM",
					     .checkpoint = "CP",
					     .profile = "PF",
					     .workspace = "/w",
					     .cwd = "here" };
	FILE *text = tmpfile();
	const int before = dup(STDERR_FILENO);
	size_t size;

	cr_assert(text && before >= 0);
	(void)snprintf(refused.detail, sizeof(refused.detail), "%s", detail);
	(void)dup2(fileno(text), STDERR_FILENO);
	refusal_explain(&refused, &words, -1);
	(void)dup2(before, STDERR_FILENO);
	(void)close(before);
	rewind(text);
	size = fread(line, 1, sizeof(line) - 1, text);
	line[size] = '\0';
	(void)fclose(text);
	return line;
}

Test(refusal, each_is_one_line_with_its_detail)
{
	for (uint32_t reason = REFUSAL_NONE + 1; reason < REFUSAL_COUNT; reason++) {
		for (int has_detail = 0; has_detail < 2; has_detail++) {
			const char *line = explained(reason, has_detail ? "DETAIL" : "");
			const char *newline = strchr(line, '\n');

			cr_expect(newline && newline[1] == '\0', "%u: '%s'", reason, line);
			cr_expect_gt(strlen(line), strlen("msp: \n"), "%u", reason);
			cr_expect_null(strstr(line, "(null)"), "%u: '%s'", reason, line);
		}
	}
}

Test(refusal, those_of_sandboxes_name_what_was_meant_and_what_helps)
{
	static const struct {
		uint32_t reason;
		const char *word, *remedy;
	} cases[] = {
		{ REFUSAL_SANDBOX_UNKNOWN, "'SB'", "SB" },
		{ REFUSAL_SANDBOX_BUSY, "'SB'", "msp stop SB" },
		{ REFUSAL_SANDBOX_ELSEWHERE, "'SB'", "msp setup" },
		{ REFUSAL_SANDBOX_DAMAGED, "DETAIL", "msp destroy SB" },
		{ REFUSAL_SANDBOX_NAME, "'NM'", "take another name" },
		{ REFUSAL_SANDBOXES, "DETAIL", "msp destroy" },
		{ REFUSAL_DISK, "DETAIL", "msp rollback" },
		{ REFUSAL_WORKSPACE, "'SB'", "DETAIL" },
		{ REFUSAL_RESOURCES, "DETAIL", "msp doctor" },
		{ REFUSAL_CHECKPOINT_UNKNOWN, "'CP'", "it has: DETAIL" },
		{ REFUSAL_CHECKPOINT_LIMIT, "DETAIL", "msp forget SB" },
		{ REFUSAL_APPLY, "'SB'", "DETAIL" },
		{ REFUSAL_UNDO, "'SB'", "DETAIL" },
		{ REFUSAL_STATE, "DETAIL", "DETAIL" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *line = explained(cases[i].reason, "DETAIL");

		cr_expect(strstr(line, cases[i].word), "'%s' in '%s'", cases[i].word, line);
		cr_expect(strstr(line, cases[i].remedy), "'%s' in '%s'", cases[i].remedy, line);
	}
	/* A name that nobody can have. */
	cr_expect_not_null(strstr(explained(REFUSAL_SANDBOX_NAME, ""), "'NM' cannot be a name"));
}
