/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes as lines, patches, figures and JSON.
 */
#include "show/change_text.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/ipc/ipc_changes.h"
#include "show/patch_text.h"
#include "show/stat_text.h"

static struct change change(uint32_t kind, const char *path, const char *patch)
{
	struct change made = { .is = { .kind = kind,
				       .path_size = (uint32_t)strlen(path),
				       .patch_size = (uint32_t)strlen(patch) },
			       .path = (const uint8_t *)path,
			       .patch = (const uint8_t *)patch };

	if (kind != CHANGE_ADDED)
		made.is.old_mode = 0100644;
	if (kind != CHANGE_DELETED)
		made.is.new_mode = 0100644;
	made.old_path = made.link = made.path;
	return made;
}

#define PATCH                                                                                      \
	"diff --git a/x.c b/x.c\n"                                                                 \
	"index 1..2 100644\n"                                                                      \
	"--- a/x.c\n"                                                                              \
	"+++ b/x.c\n"                                                                              \
	"@@ -1,3 +1,3 @@ int main(void)\n"                                                         \
	" same\n"                                                                                  \
	"--- not a head\n"                                                                         \
	"+++ nor this\n"                                                                           \
	"+d\x1b[31m\n"                                                                             \
	"\\ No newline at end of file\n"

static void expect_output(const char *expected)
{
	(void)fflush(stdout);
	cr_assert_stdout_eq_str(expected);
}

/* --- patches -------------------------------------------------------------------------------- */

Test(patch_text, for_git_every_byte_is_as_it_was, .init = cr_redirect_stdout)
{
	const struct patch_style style = { .has_color = false };
	const struct change made = change(CHANGE_MODIFIED, "x.c", PATCH);

	cr_expect(patch_print(&style, &made));
	expect_output(PATCH);
}

Test(patch_text, for_a_person_nothing_is_obeyed, .init = cr_redirect_stdout)
{
	const struct patch_style style = { .is_shown = true };
	const struct change made = change(CHANGE_MODIFIED, "x.c", "@@ -0,0 +1 @@\n+a\x1b[31mb\r\n");

	cr_expect(patch_print(&style, &made));
	expect_output("@@ -0,0 +1 @@\n+a^[[31mb^M\n");
}

#define TURNED "@@ -0,0 +1 @@\n+if (x\xe2\x80\xae) /* \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d */\n"

Test(patch_text, hidden_characters_are_shown_to_a_person, .init = cr_redirect_stdout)
{
	const struct patch_style style = { .is_shown = true, .is_terminal = true };
	const struct change made = change(CHANGE_MODIFIED, "x.c", TURNED);

	cr_expect(patch_print(&style, &made));
	expect_output("@@ -0,0 +1 @@\n+if (x<U+202E>) /* \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d */\n");
}

Test(patch_text, hidden_characters_stay_for_git, .init = cr_redirect_stdout)
{
	const struct patch_style style = { .is_shown = true };
	const struct change made = change(CHANGE_MODIFIED, "x.c", TURNED);

	cr_expect(patch_print(&style, &made));
	expect_output(TURNED);
}

Test(patch_text, commits_are_named_to_a_person_alone, .init = cr_redirect_stdout)
{
	static const char link[] = "0123456789ab, 2 new commits";
	const struct patch_style shown = { .is_shown = true }, for_git = { .is_shown = false };
	struct change made = change(CHANGE_ADDED, ".git/refs/msp/box/main", "");

	made.is.flags = CHANGE_IS_COMMITS;
	made.link = (const uint8_t *)link;
	made.is.link_size = sizeof(link) - 1;
	cr_expect(patch_print(&for_git, &made));
	cr_expect(patch_print(&shown, &made));
	expect_output("Commits: .git/refs/msp/box/main -> 0123456789ab, 2 new commits\n");
}

Test(patch_text, colors, .init = cr_redirect_stdout)
{
	const struct patch_style style = { .has_color = true,
					   .is_shown = true,
					   .is_terminal = true };
	const struct change made = change(CHANGE_MODIFIED, "x.c", PATCH);

	cr_expect(patch_print(&style, &made));
	expect_output("\033[1mdiff --git a/x.c b/x.c\033[m\n"
		      "\033[1mindex 1..2 100644\033[m\n"
		      "\033[1m--- a/x.c\033[m\n"
		      "\033[1m+++ b/x.c\033[m\n"
		      "\033[36m@@ -1,3 +1,3 @@\033[m int main(void)\n"
		      " same\n"
		      "\033[31m--- not a head\033[m\n"
		      "\033[32m+++ nor this\033[m\n"
		      "\033[32m+d^[[31m\033[m\n"
		      "\\ No newline at end of file\n");
}

Test(patch_text, two_files_in_one_patch, .init = cr_redirect_stdout)
{
	const struct patch_style style = { .has_color = true,
					   .is_shown = true,
					   .is_terminal = true };
	const struct change made = change(CHANGE_TYPE, "x",
					  "diff --git a/x b/x\n@@ -1 +0,0 @@\n-a\n"
					  "diff --git a/x b/x\n--- /dev/null\n");

	cr_expect(patch_print(&style, &made));
	expect_output("\033[1mdiff --git a/x b/x\033[m\n\033[36m@@ -1 +0,0 @@\033[m\n"
		      "\033[31m-a\033[m\n\033[1mdiff --git a/x b/x\033[m\n"
		      "\033[1m--- /dev/null\033[m\n");
}

Test(patch_text, binary_files, .init = cr_redirect_stdout)
{
	const struct patch_style shown = { .is_shown = true };
	const struct patch_style exact = { .is_shown = false };
	struct change made = change(CHANGE_ADDED, "a\tb.png", "");

	made.is.flags = CHANGE_IS_BINARY;
	made.is.new_size = 10;
	cr_expect(patch_print(&shown, &made));
	cr_expect_not(patch_print(&exact, &made), "git apply could do nothing with it");
	expect_output("diff --git \"a/a\\tb.png\" \"b/a\\tb.png\"\n"
		      "new file mode 100644\n"
		      "Binary files /dev/null and \"b/a\\tb.png\" differ\n");
}

Test(patch_text, a_head_that_says_all, .init = cr_redirect_stdout)
{
	const struct patch_style exact = { .is_shown = false };
	struct change made = change(CHANGE_MODE, "run.sh", "");

	made.is.new_mode = 0100755;
	cr_expect(patch_print(&exact, &made));
	made = change(CHANGE_RENAMED, "new", "");
	made.old_path = (const uint8_t *)"old";
	made.is.old_path_size = 3;
	made.is.old_size = made.is.new_size = 5;
	cr_expect(patch_print(&exact, &made));
	expect_output("diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
		      "diff --git a/old b/new\nrename from old\nrename to new\n");
}

Test(patch_text, folders_are_not_gits, .init = cr_redirect_stdout)
{
	const struct patch_style exact = { .is_shown = false };
	struct change made = change(CHANGE_ADDED, "folder", "");

	made.is.flags = CHANGE_IS_DIRECTORY;
	cr_expect(patch_print(&exact, &made));
	expect_output("");
}

Test(patch_text, when_to_color)
{
	enum patch_color color = PATCH_COLOR_AUTO;

	cr_redirect_stdout(); /* no terminal */
	cr_expect_null(patch_set_color(&color, "always"));
	cr_expect_eq(color, PATCH_COLOR_ALWAYS);
	cr_expect_not_null(patch_set_color(&color, "yes"));
	cr_expect(patch_style(PATCH_COLOR_ALWAYS, false).has_color);
	cr_expect(patch_style(PATCH_COLOR_ALWAYS, false).is_terminal, "one may be behind it");
	cr_expect_not(patch_style(PATCH_COLOR_AUTO, false).has_color);
	cr_expect_not(patch_style(PATCH_COLOR_AUTO, false).is_shown);
	cr_expect(patch_style(PATCH_COLOR_AUTO, true).is_shown);
	cr_expect_not(patch_style(PATCH_COLOR_AUTO, true).is_terminal, "git apply may be");
	cr_expect_not(patch_style(PATCH_COLOR_NEVER, true).has_color);
}

/* --- lines ---------------------------------------------------------------------------------- */

Test(change_text, lines, .init = cr_redirect_stdout)
{
	struct change made = change(CHANGE_MODIFIED, "src/x.c", "");

	change_print_line(&made);
	made.is.flags = CHANGE_IS_HELD | CHANGE_IS_CONFLICT;
	change_print_line(&made);
	made = change(CHANGE_RENAMED, "new", "");
	made.old_path = (const uint8_t *)"\xff";
	made.is.old_path_size = 1;
	change_print_line(&made);
	made = change(CHANGE_ADDED, "folder", "");
	made.is.flags = CHANGE_IS_DIRECTORY;
	change_print_line(&made);
	made = change(CHANGE_MODE, "run.sh", "");
	made.is.new_mode = 0100755;
	change_print_line(&made);
	expect_output("M  src/x.c\n"
		      "M  src/x.c  (conflict: changed on this machine meanwhile; this machine "
		      "may execute it by itself)\n"
		      "R  \"\\377\" => new\n"
		      "A  folder/\n"
		      "M  run.sh  (mode 644 -> 755)\n");
}

static struct change change_of_link(const char *path, const char *target)
{
	struct change made = change(CHANGE_ADDED, path, "");

	made.is.new_mode = 0120777;
	made.link = (const uint8_t *)target;
	made.is.link_size = (uint32_t)strlen(target);
	return made;
}

Test(change_text, a_link_says_where_it_leads, .init = cr_redirect_stdout)
{
	struct change made = change_of_link("logo.png", "/home/user/.ssh/id_rsa");

	change_print_line(&made);
	made = change_of_link("a\xe2\x80\xae", "../b\xe2\x80\x8b");
	made.is.flags = CHANGE_IS_HELD;
	change_print_line(&made);
	made = change_of_link("new", "c");
	made.is.kind = CHANGE_RENAMED;
	made.old_path = (const uint8_t *)"old";
	made.is.old_path_size = 3;
	change_print_line(&made);
	expect_output("A  logo.png -> /home/user/.ssh/id_rsa\n"
		      "A  \"a\\342\\200\\256\" -> \"../b\\342\\200\\213\"  "
		      "(this machine may execute it by itself)\n"
		      "R  old => new -> c\n");
}

Test(change_text, a_path_alone_has_no_target)
{
	const struct change made = change_of_link("link", "target");

	cr_expect_str_eq(change_path(&made), "link");
	cr_expect_str_eq(change_name(&made), "link -> target");
}

Test(change_text, lines_of_a_patch_are_counted)
{
	const struct change made = change(CHANGE_MODIFIED, "x", PATCH);
	uint64_t added;
	uint64_t removed;

	change_count_lines(&made, &added, &removed);
	cr_expect_eq(added, 2U);
	cr_expect_eq(removed, 1U);
}

Test(change_text, json, .init = cr_redirect_stdout)
{
	struct change made = change(CHANGE_SYMLINK, "a\xff", "p\n");

	made.link = (const uint8_t *)"to";
	made.is.link_size = 2;
	made.is.new_mode = 0120777;
	made.is.flags = CHANGE_IS_HELD;
	change_write(json_begin(STDOUT_FILENO), &made, true);
	cr_expect_eq(json_finish(), 0);
	expect_output("{\n"
		      "  \"kind\": \"symlink\",\n"
		      "  \"path\": \"a\xef\xbf\xbd\",\n"
		      "  \"path_base64\": \"Yf8=\",\n"
		      "  \"link\": \"to\",\n"
		      "  \"old_mode\": \"100644\",\n"
		      "  \"new_mode\": \"120777\",\n"
		      "  \"old_bytes\": 0,\n"
		      "  \"new_bytes\": 0,\n"
		      "  \"held\": true,\n"
		      "  \"patch\": \"p\\n\"\n"
		      "}\n");
}

Test(change_text, failures_are_explained)
{
	struct ipc_changes_done done = { .request = 1 };

	cr_expect_eq(change_explain_error(&done), 0);
	done.error = 28;
	for (done.step = 0; done.step <= CHANGES_STEP_COUNT; done.step++)
		cr_expect_eq(change_explain_error(&done), 70);
}

/* --- figures -------------------------------------------------------------------------------- */

static char lines[4096];

/* A patch that adds and removes so many lines. */
static const char *patch_of(int added, int removed)
{
	size_t used = (size_t)snprintf(lines, sizeof(lines), "@@ -1 +1 @@\n");

	for (int i = 0; i < added + removed; i++)
		used += (size_t)snprintf(lines + used, sizeof(lines) - used, "%sx\n",
					 i < added ? "+" : "-");
	return lines;
}

static void add(struct stat_text *stat, const char *path, int added, int removed)
{
	const struct change made = change(CHANGE_MODIFIED, path, patch_of(added, removed));

	stat_text_add(stat, &made);
}

Test(stat_text, small_ones, .init = cr_redirect_stdout)
{
	struct stat_text *stat = stat_text_new(80);
	struct change made = change(CHANGE_MODIFIED, "logo.png", "");

	add(stat, "src/main.c", 3, 2);
	add(stat, "x", 10, 0);
	made.is.flags = CHANGE_IS_BINARY;
	made.is.old_size = 12;
	made.is.new_size = 345;
	stat_text_add(stat, &made);
	stat_text_finish(stat);
	expect_output(" src/main.c |  5 +++--\n"
		      " x          | 10 ++++++++++\n"
		      " logo.png   | Bin 12 -> 345 bytes\n"
		      " 3 files changed, 13 insertions(+), 2 deletions(-)\n");
}

Test(stat_text, one_file, .init = cr_redirect_stdout)
{
	struct stat_text *stat = stat_text_new(80);

	add(stat, "x", 1, 0);
	stat_text_finish(stat);
	expect_output(" x | 1 +\n 1 file changed, 1 insertion(+)\n");
}

Test(stat_text, nothing, .init = cr_redirect_stdout)
{
	stat_text_finish(stat_text_new(80));
	expect_output("");
}

/* Bars are scaled, and no line is wider than the terminal. */
Test(stat_text, wide_ones, .init = cr_redirect_stdout)
{
	FILE *output = cr_get_redirected_stdout();
	struct stat_text *stat = stat_text_new(60);
	char path[200];
	char line[512];
	size_t seen = 0;

	memset(path, 'd', sizeof(path));
	memcpy(path + sizeof(path) - 6, "end.c", 6);
	add(stat, path, 400, 300);
	add(stat, "few", 1, 0);
	stat_text_finish(stat);
	(void)fclose(stdout);
	while (fgets(line, sizeof(line), output)) {
		cr_expect_leq(strcspn(line, "\n"), 60U, "'%s'", line);
		cr_expect(seen != 0 || (strstr(line, "end.c | 700 +") && strstr(line, " ...d")),
			  "'%s'", line);
		cr_expect(seen != 1 || strstr(line, "|   1 +\n"), "'%s'", line);
		seen++;
	}
	cr_expect_eq(seen, 3U);
}

/* More than is aligned at once: memory is bounded, the sum is of all. */
Test(stat_text, many, .init = cr_redirect_stdout)
{
	FILE *output = cr_get_redirected_stdout();
	struct stat_text *stat = stat_text_new(80);
	char line[512] = "";
	size_t seen = 0;

	for (int i = 0; i < 2 * STAT_BATCH + 1; i++)
		add(stat, "x", 1, 1);
	stat_text_finish(stat);
	(void)fclose(stdout);
	while (fgets(line, sizeof(line), output))
		seen++;
	cr_expect_eq(seen, 2U * STAT_BATCH + 2);
	cr_expect_str_eq(line, " 2001 files changed, 2001 insertions(+), 2001 deletions(-)\n");
}
