/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/record.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ID "2rgbftc2erh915t6ckfprby7fr"
#define OTHER_ID "3rgbftc2erh915t6ckfprby7fr"

static char folder[64], text[IPC_LIST_MAX];

static void make_folder(void)
{
	(void)strcpy(folder, "/tmp/msp-test-XXXXXX");
	cr_assert(mkdtemp(folder));
	cr_assert_eq(setenv("MSP_STATE_DIR", folder, 1), 0);
}

static void remove_folder(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(record, .init = make_folder, .fini = remove_folder);

static struct agent_record make(const char *id, const char *word, const char *project)
{
	struct agent_record record = { .sandbox = "tool-project",
				       .profile = "agent.tool+0123456789ab",
				       .agent = "tool" };

	(void)snprintf(record.id, sizeof(record.id), "%s", id);
	(void)snprintf(record.word, sizeof(record.word), "%s", word);
	(void)snprintf(record.project, sizeof(record.project), "%s", project);
	return record;
}

/* Find the record of a project. */
static bool find(const char *word, const char *project, struct agent_record *ret)
{
	*ret = make("", word, project);
	return agent_record_find(ret, text);
}

Test(record, nothing_is_kept_at_first)
{
	struct agent_record found;

	cr_assert_not(find("", "/a", &found));
	cr_assert_str_empty(text);
}

Test(record, all_members_come_back)
{
	static const char *const projects[] = { "/a", "/a b", "/new\nline", "/back\\slash\\n",
						"/\303\274" };
	struct agent_record record, found;

	for (size_t i = 0; i < sizeof(projects) / sizeof(projects[0]); i++) {
		record = make(ID, "two", projects[i]);
		(void)strcpy(record.command, "abc123");
		record.has_login = i % 2 == 0;
		record.has_session = i % 3 == 0;
		cr_assert_eq(agent_record_write(&record, text), 0);
		cr_assert(find("two", projects[i], &found));
		cr_assert_str_eq(found.id, ID);
		cr_assert_str_eq(found.sandbox, record.sandbox);
		cr_assert_str_eq(found.profile, record.profile);
		cr_assert_str_eq(found.command, "abc123");
		cr_assert_eq(found.has_login, record.has_login);
		cr_assert_eq(found.has_session, record.has_session);
	}
	cr_assert_not(find("", "/a", &found), "another name has another sandbox");
	cr_assert_not(find("two", "/b", &found));
}

Test(record, one_for_each_project_agent_and_name)
{
	struct agent_record record = make(ID, "", "/a"), found;

	cr_assert_eq(agent_record_write(&record, text), 0);
	record = make(OTHER_ID, "", "/a");
	cr_assert_eq(agent_record_write(&record, text), 0);
	cr_assert(find("", "/a", &found));
	cr_assert_str_eq(found.id, OTHER_ID);
	cr_assert_eq(agent_record_drop(ID, text), 0);
	cr_assert(find("", "/a", &found));
	cr_assert_eq(agent_record_drop(OTHER_ID, text), 0);
	cr_assert_not(find("", "/a", &found));
}

Test(record, damaged_lines_are_left_out)
{
	struct agent_record found;
	char path[128];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/agents", folder);
	file = fopen(path, "w");
	cr_assert(file);
	(void)fprintf(
		file,
		"\nword\n%s tool - - - - -\n%s tool - - - - - relative\nshort tool - - - - - /a\n"
		"%s tool - name - - -ls /a\n%s tool - - - - - /cut",
		ID, ID, ID, ID);
	(void)fclose(file);
	cr_assert(find("", "/a", &found));
	cr_assert_str_eq(found.sandbox, "name");
	cr_assert(found.has_login && found.has_session);
	cr_assert_not(find("", "/cut", &found), "a writer was killed in this line");
}

static void count_record(void *context, const struct agent_record *record)
{
	*(int *)context += record->id[0] != '\0';
}

Test(record, the_oldest_ones_give_way)
{
	struct agent_record record, found;
	char project[32];
	int count = 0;

	for (int i = 0; i < 505; i++) {
		(void)snprintf(project, sizeof(project), "/%d", i);
		record = make(ID, "", project);
		cr_assert_eq(agent_record_write(&record, text), 0);
	}
	cr_assert_eq(agent_records_each(count_record, &count, text), 0);
	cr_assert_eq(count, 500);
	cr_assert_not(find("", "/4", &found));
	cr_assert(find("", "/5", &found));
}

Test(record, a_file_that_cannot_be_written)
{
	const struct agent_record record = make(ID, "", "/a");
	struct agent_record found;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/agents", folder);
	cr_assert_eq(mkdir(path, 0700), 0);
	cr_assert_lt(agent_record_write(&record, text), 0);
	cr_assert(strstr(text, "/agents"));
	cr_assert_not(find("", "/a", &found));
	cr_assert(strstr(text, "/agents"));
}

Test(record, words)
{
	cr_assert_not(agent_word_check("a"));
	cr_assert_not(agent_word_check("Second_one-2"));
	cr_assert_not(agent_word_check("0123456789abcdef"));
	cr_assert(agent_word_check("0123456789abcdefg"));
	cr_assert(agent_word_check(""));
	cr_assert(agent_word_check("-a"));
	cr_assert(agent_word_check("a b"));
	cr_assert(agent_word_check("a/b"));
	cr_assert(agent_word_check("\303\274"));
}
