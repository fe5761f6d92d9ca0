/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules beyond credentials: hidden files of a home and their exceptions, and from where the
 * host starts programs.
 */
#include "protected_support.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text/format.h"

TestSuite(protected_rules, .init = protected_begin, .fini = protected_end);

/* --- hidden files of a home ------------------------------------------------------------------ */

static void expect_hidden(const char *name, enum protected_verdict verdict)
{
	static const enum protected_use uses[] = { PROTECTED_READ, PROTECTED_WRITTEN };
	struct protected_answer answer;
	char path[4096];

	path_of(name, path);
	for (size_t i = 0; i < 2; i++) {
		use = uses[i];
		answer = ask_path(path);
		cr_expect_eq(answer.verdict, verdict, "%s: %d", name, (int)answer.verdict);
		cr_expect(answer.verdict == PROTECTED_FREE || answer.rule == PROTECTED_HIDDEN,
			  "%s: %d", name, (int)answer.rule);
	}
	use = PROTECTED_WRITTEN;
}

Test(protected_rules, hidden_files_of_a_home)
{
	make_file("home/user/.bashrc");
	make_folder("home/user/.config/editor/deep");
	make_folder("home/user/project/.config");
	expect_hidden("home/user/.sshfs", PROTECTED_IS);
	expect_hidden("home/user/.bashrc", PROTECTED_IS);
	expect_hidden("home/user/.config/editor", PROTECTED_INSIDE);
	expect_hidden("home/user/.config/editor/deep", PROTECTED_INSIDE);
	expect_hidden("home/user/project", PROTECTED_FREE);
	expect_hidden("home/user/project/.config", PROTECTED_FREE);
}

Test(protected_rules, what_hidden_links_lead_to)
{
	make_folder("home/user/dots");
	make_folder("home/user/dots/sub");
	make_file("home/user/dots/zshrc");
	make_folder("settings");
	make_folder("settings/app");
	expect_hidden("home/user/dots", PROTECTED_FREE);
	expect_hidden("settings/app", PROTECTED_FREE);
	make_link("dots/zshrc", "home/user/.zshrc");
	make_link("../../settings", "home/user/.settings");
	expect_hidden("home/user/dots", PROTECTED_CONTAINS);
	expect_hidden("home/user/dots/zshrc", PROTECTED_IS);
	expect_hidden("home/user/dots/sub", PROTECTED_FREE);
	expect_hidden("settings", PROTECTED_IS);
	expect_hidden("settings/app", PROTECTED_INSIDE);
}

Test(protected_rules, a_hard_link_to_a_hidden_file)
{
	char from[4096];
	char to[4096];

	make_file("home/user/.profile");
	path_of("home/user/.profile", from);
	path_of("home/user/project/harmless", to);
	cr_assert_eq(link(from, to), 0);
	expect_hidden("home/user/project/harmless", PROTECTED_IS);
}

Test(protected_rules, directories_that_the_environment_names)
{
	static char path[4096];

	make_folder("settings");
	make_folder("settings/app");
	path_of("settings", path);
	set.hidden[2] = path;
	expect_hidden("settings", PROTECTED_IS);
	expect_hidden("settings/app", PROTECTED_INSIDE);
	use = PROTECTED_READ;
	cr_expect_eq(ask("mnt"), PROTECTED_FREE);
}

static void open_hidden(const char *const names[])
{
	static char room[512];

	set.unprotect_size = make_list(room, names);
	set.unprotect = room;
}

Test(protected_rules, what_the_operator_opens)
{
	static const char *const names[] = { "home/user/.config/editor", "home/user/.sshfs",
					     "home/user/missing", NULL };

	open_hidden(names);
	make_folder("home/user/.config/editor/deep");
	make_folder("home/user/.config/editor-evil");
	expect_hidden("home/user/.config/editor", PROTECTED_FREE);
	expect_hidden("home/user/.config/editor/deep", PROTECTED_FREE);
	expect_hidden("home/user/.sshfs", PROTECTED_FREE);
	expect_hidden("home/user/.config/editor-evil", PROTECTED_INSIDE);
}

Test(protected_rules, credentials_are_opened_by_nothing)
{
	static const char *const names[] = { "home/user/.config", "home/user/.ssh",
					     "home/user/.local", "home", NULL };

	open_hidden(names);
	make_folder("home/user/.local");
	make_folder("home/user/.local/bin");
	make_folder("home/user/.local/share");
	cr_expect_eq(ask("home/user/.config"), PROTECTED_CONTAINS, "it has gcloud");
	cr_expect_eq(ask("home/user/.config/editor"), PROTECTED_FREE, "it has not");
	cr_expect_eq(ask("home/user/.config/gcloud"), PROTECTED_IS);
	cr_expect_eq(ask("home/user/.ssh/deep"), PROTECTED_INSIDE);
	cr_expect_eq(ask("home/user/.local/bin"), PROTECTED_IS);
	cr_expect_eq(ask("home/user/.local/share"), PROTECTED_CONTAINS);
	cr_expect_eq(ask("home/user"), PROTECTED_IS);
}

Test(protected_rules, toolchains_may_be_read)
{
	make_folder("home/user/.rustup");
	make_folder("home/user/.rustup/toolchains");
	make_folder("home/user/.rustup/toolchains/stable");
	cr_expect_eq(ask("home/user/.rustup/toolchains/stable"), PROTECTED_INSIDE);
	use = PROTECTED_READ;
	cr_expect_eq(ask("home/user/.rustup/toolchains/stable"), PROTECTED_FREE);
	cr_expect_eq(ask("home/user/.rustup/toolchains"), PROTECTED_FREE);
	cr_expect_eq(ask("home/user/.rustup"), PROTECTED_IS);
}

Test(protected_rules, a_home_that_cannot_be_listed)
{
	if (geteuid() == 0)
		cr_skip("root lists everything");
	cr_assert_eq(chmod(home, 0100), 0);
	cr_expect_eq(ask("home/user/project"), PROTECTED_ERROR);
	cr_expect_eq(ask("mnt"), PROTECTED_FREE);
	cr_assert_eq(chmod(home, 0), 0);
	cr_expect_eq(ask("mnt"), PROTECTED_FREE);
	cr_assert_eq(chmod(home, 0700), 0);
	cr_expect_eq(ask("home/user/project"), PROTECTED_FREE);
}

/* --- from where the host starts programs ----------------------------------------------------- */

static void expect_started(const char *name, enum protected_verdict verdict)
{
	char path[4096];

	if (name[0] == '/')
		format_text(path, sizeof(path), "%s", name);
	else
		path_of(name, path);
	cr_expect_eq(ask_path(path).verdict, verdict, "%s", name);
	use = PROTECTED_READ;
	cr_expect_eq(ask_path(path).verdict, PROTECTED_FREE, "%s may be read", name);
	use = PROTECTED_WRITTEN;
}

Test(protected_rules, from_where_the_system_starts_programs)
{
	expect_started("/usr/bin", PROTECTED_IS);
	expect_started("/usr", PROTECTED_CONTAINS);
	expect_started("/usr/local", PROTECTED_CONTAINS);
	expect_started("/usr/local/bin", PROTECTED_IS);
	expect_started("/etc/alternatives", PROTECTED_INSIDE);
}

Test(protected_rules, from_where_a_home_starts_programs)
{
	make_folder("home/user/bin");
	make_folder("home/user/bin/sub");
	make_folder("home/user/bin-evil");
	make_folder("home/user/go");
	make_folder("home/user/go/src");
	expect_started("home/user/bin", PROTECTED_IS);
	expect_started("home/user/bin/sub", PROTECTED_INSIDE);
	expect_started("home/user/go", PROTECTED_CONTAINS);
	cr_expect_eq(ask("home/user/go/src"), PROTECTED_FREE);
	cr_expect_eq(ask("home/user/bin-evil"), PROTECTED_FREE);
}

Test(protected_rules, where_programs_are_looked_for)
{
	static char search[4096];

	make_folder("home/user/project/tools");
	make_folder("home/user/project/tools/sub");
	make_folder("home/user/project/src");
	format_text(search, sizeof(search), ":.:tools:%s/missing:%s/project/tools:", home, home);
	set.search = search;
	expect_started("home/user/project/tools", PROTECTED_IS);
	expect_started("home/user/project/tools/sub", PROTECTED_INSIDE);
	cr_expect_eq(ask("home/user/project"), PROTECTED_FREE, "as with a virtual environment");
	cr_expect_eq(ask("home/user/project/src"), PROTECTED_FREE);
}

Test(protected_rules, the_directory_of_temporary_files)
{
	static char path[4096];

	path_of("mnt", path);
	set.temporary = path;
	cr_expect_eq(ask("mnt"), PROTECTED_IS);
	cr_expect_eq(ask("mnt/a"), PROTECTED_FREE);
}

static void expect_words(const char *path, const char *part)
{
	const struct protected_answer answer = ask_path(path);
	char text[PROTECTED_TEXT_MAX];

	protected_describe(&answer, path, &set, text);
	cr_expect_not_null(strstr(text, part), "%s", text);
	cr_expect_not_null(strstr(text, path), "%s", text);
}

Test(protected_rules, each_rule_says_what_helps)
{
	char path[4096];

	path_of("home/user/.config/editor", path);
	expect_words(path, "name this one under 'unprotect'");
	path_of("home/user/.ssh", path);
	expect_words(path, "copy what is needed into one");
	expect_words("/var/tmp", "Make a folder in it");
	expect_words("/usr/bin", "install from there");
	set.search = "/usr/share";
	expect_words("/usr/share", "(PATH). Work on another folder");
	expect_words(home, "Name a folder in it that is not hidden");
}
