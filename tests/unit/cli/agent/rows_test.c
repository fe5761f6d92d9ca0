/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/rows.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct agent_rows rows;
static char text[65536];

static bool read_rows(const char *lines)
{
	(void)snprintf(text, sizeof(text), "%s", lines);
	return agent_rows_read(text, &rows);
}

Test(rows, all_words)
{
	const struct agent_row *row;

	cr_assert(read_rows("agent\tone\ndescription\tThe first\nprogram\ta\nprogram\tb\n"
			    "install\tget a\nhost\th.example\nlogin_host\tl.example\nkey\tKEY\n"
			    "base_url\tURL\nargument\t--yes\nnote\tsaid\nlogin_argument\tlogin\n"
			    "login_port\t1455\nresume\t-c\nfile\t.a/b\ntext\tx\\n\\ty\\\\n\n"
			    "version\t2\nlater\tword\nagent\ttwo\nprogram\tc\n"));
	cr_assert_eq(rows.count, 2);
	row = agent_rows_find(&rows, "one");
	cr_assert(row);
	cr_assert_str_eq(row->description, "The first");
	cr_assert_eq(row->programs.count, 2);
	cr_assert_str_eq(row->programs.list[1], "b");
	cr_assert_str_eq(row->install, "get a");
	cr_assert_str_eq(row->hosts.list[0], "h.example");
	cr_assert_str_eq(row->login_hosts.list[0], "l.example");
	cr_assert_str_eq(row->keys.list[0], "KEY");
	cr_assert_str_eq(row->base_url, "URL");
	cr_assert_str_eq(row->arguments.list[0], "--yes");
	cr_assert_str_eq(row->note, "said");
	cr_assert_str_eq(row->login_arguments.list[0], "login");
	cr_assert_eq(row->login_port, 1455);
	cr_assert_str_eq(row->resume.list[0], "-c");
	cr_assert_str_eq(row->version, "2");
	cr_assert_eq(row->file_count, 1);
	cr_assert_str_eq(row->files[0].path, ".a/b");
	cr_assert_str_eq(row->files[0].text, "x\n\ty\\n");
	row = agent_rows_find(&rows, "two");
	cr_assert(row && !row->description && row->file_count == 0);
	cr_assert_not(agent_rows_find(&rows, "three"));
}

Test(rows, nothing)
{
	cr_assert(read_rows(""));
	cr_assert_eq(rows.count, 0);
}

Test(rows, lines_out_of_place)
{
	cr_assert_not(read_rows("program\ta\n"));
	cr_assert_not(read_rows("agent\ta\ntext\tx\n"));
	cr_assert_not(read_rows("agent\ta\nno tab\n"));
}

/* `count` lines behind a row's first. */
static bool read_many(const char *line, int count)
{
	static char many[65536];
	size_t used = (size_t)snprintf(many, sizeof(many), "agent\ta\n");

	for (int i = 0; i < count; i++)
		used += (size_t)snprintf(many + used, sizeof(many) - used, "%s\n", line);
	return read_rows(many);
}

Test(rows, no_more_than_there_is_room_for)
{
	cr_assert(read_many("host\th", AGENT_WORDS_MAX));
	cr_assert_not(read_many("host\th", AGENT_WORDS_MAX + 1));
	cr_assert(read_many("file\tf", AGENT_FILES_MAX));
	cr_assert_not(read_many("file\tf", AGENT_FILES_MAX + 1));
	cr_assert(read_many("agent\ta", AGENT_ROWS_MAX - 1));
	cr_assert_not(read_many("agent\ta", AGENT_ROWS_MAX));
}

Test(rows, an_unknown_name_is_refused_with_the_known_ones)
{
	cr_assert(read_rows("agent\tclaude\nagent\tcodex\n"));
	cr_assert_eq(agent_rows_refuse(&rows, "clade"), 64);
}
