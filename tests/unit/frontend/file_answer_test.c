/* SPDX-License-Identifier: Apache-2.0
 *
 * What msp-file answers, as a frontend reads it: whole, in any pieces, wrong, and hostile.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/ipc/ipc_persistent.h"
#include "frontend/file_answer.h"

static uint8_t bytes[FILE_RECORD_MAX + 8192];

static size_t put_head(struct file_head head, const char *text)
{
	head.magic = head.magic ? head.magic : FILE_MAGIC;
	head.text_size = head.text_size ? head.text_size : (uint32_t)strlen(text);
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), text, strlen(text));
	return sizeof(head) + strlen(text);
}

static size_t put_entry(struct file_entry entry, const char *path, size_t path_size,
			const char *link)
{
	entry.path_size = (uint32_t)path_size;
	entry.link_size = (uint32_t)strlen(link);
	memcpy(bytes, &entry, sizeof(entry));
	memcpy(bytes + sizeof(entry), path, path_size);
	memcpy(bytes + sizeof(entry) + path_size, link, entry.link_size);
	return sizeof(entry) + path_size + entry.link_size;
}

Test(file_answer, a_head_is_complete_or_not)
{
	const size_t size =
		put_head((struct file_head){ .problem = FILE_DANGLING, .size = 7 }, "target");
	struct file_answer answer;

	for (size_t i = 0; i < size; i++)
		cr_assert_eq(file_answer_read(bytes, i, &answer), 0, "%zu", i);
	for (size_t more = 0; more < 5; more++)
		cr_assert_eq(file_answer_read(bytes, size + more, &answer), (long)size);
	cr_assert_eq(answer.is.problem, FILE_DANGLING);
	cr_assert_eq(answer.is.size, 7);
	cr_assert_eq(strncmp(answer.text, "target", 6), 0);
}

Test(file_answer, wrong_heads)
{
	static const struct file_head wrong[] = {
		{ .magic = FILE_MAGIC + 1 }, { .problem = FILE_PROBLEM_COUNT },
		{ .problem = UINT32_MAX },   { .text_size = IPC_PATH_MAX },
		{ .text_size = UINT32_MAX }, { .problem = FILE_ERROR, .error = UINT32_MAX },
		{ .size = UINT64_MAX },
	};
	struct file_answer answer;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)put_head(wrong[i], "");
		cr_assert_eq(file_answer_read(bytes, sizeof(bytes), &answer), -EBADMSG, "%zu", i);
	}
	(void)put_head((struct file_head){ .text_size = IPC_PATH_MAX - 1 }, "");
	cr_assert_gt(file_answer_read(bytes, sizeof(bytes), &answer), 0, "the control");
}

Test(file_answer, an_entry_is_complete_or_not)
{
	const size_t size = put_entry((struct file_entry){ .mode = S_IFLNK | 0777, .size = 4 },
				      "a/b", 3, "/etc");
	struct file_found found;

	for (size_t i = 0; i < size; i++)
		cr_assert_eq(file_found_read(bytes, i, &found), 0, "%zu", i);
	cr_assert_eq(file_found_read(bytes, size + 3, &found), (long)size);
	cr_assert_eq(strncmp(found.path, "a/b", 3), 0);
	cr_assert_eq(strncmp(found.link, "/etc", 4), 0);
	(void)put_entry((struct file_entry){ .flags = FILE_ENTRY_MORE }, "", 0, "");
	cr_assert_eq(file_found_read(bytes, sizeof(struct file_entry), &found),
		     (long)sizeof(struct file_entry), "the last one");
}

Test(file_answer, paths_that_lead_elsewhere)
{
	static const char *const wrong[] = { "/",    "/etc",    ".",    "..",    "../a",
					     "a/..", "a/./b",   "a//b", "a/",    "a/../b",
					     "./a",  "a/..//b", "/..",  "../..", "a/../.." };
	static const char *const right[] = { "a",       "...",  "..a",  "a..", ".a", "a/...",
					     "a/..b/c", "a\nb", "\xff", "-",   " " };
	struct file_found found;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const size_t size =
			put_entry((struct file_entry){ 0 }, wrong[i], strlen(wrong[i]), "");

		cr_assert_eq(file_found_read(bytes, size, &found), -EBADMSG, "%s", wrong[i]);
	}
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		const size_t size =
			put_entry((struct file_entry){ 0 }, right[i], strlen(right[i]), "");

		cr_assert_eq(file_found_read(bytes, size, &found), (long)size, "%s", right[i]);
	}
	cr_assert_eq(
		file_found_read(bytes, put_entry((struct file_entry){ 0 }, "a\0b", 3, ""), &found),
		-EBADMSG, "a NUL");
	cr_assert_eq(
		file_found_read(bytes, put_entry((struct file_entry){ 0 }, "", 0, "x"), &found),
		-EBADMSG, "a last one with a target");
	cr_assert_eq(
		file_found_read(bytes,
				put_entry((struct file_entry){ .size = UINT64_MAX }, "a", 1, ""),
				&found),
		-EBADMSG, "a size");
}

Test(file_answer, sizes_beyond_their_bounds)
{
	struct file_entry entry = { .path_size = IPC_PATH_MAX };
	struct file_found found;

	memset(bytes, 'x', sizeof(bytes));
	memcpy(bytes, &entry, sizeof(entry));
	cr_assert_eq(file_found_read(bytes, sizeof(bytes), &found), -EBADMSG);
	entry = (struct file_entry){ .path_size = 1, .link_size = IPC_PATH_MAX + 1 };
	memcpy(bytes, &entry, sizeof(entry));
	cr_assert_eq(file_found_read(bytes, sizeof(bytes), &found), -EBADMSG);
	entry = (struct file_entry){ .path_size = IPC_PATH_MAX - 1, .link_size = IPC_PATH_MAX };
	memcpy(bytes, &entry, sizeof(entry));
	cr_assert_eq(file_found_read(bytes, sizeof(bytes), &found), (long)FILE_RECORD_MAX - 1);
}

/* Each problem is one line of ASCII, whatever a link points to. */
Test(file_answer, problems_are_one_line)
{
	static char target[IPC_PATH_MAX];
	struct file_answer answer;
	char text[FILE_PROBLEM_TEXT_MAX];

	memset(target, '\n', sizeof(target) - 1);
	memcpy(target, "a\x1b[31m\xff\\", 8);
	for (uint32_t problem = FILE_ERROR; problem < FILE_PROBLEM_COUNT; problem++) {
		for (uint32_t error = 0; error < 140; error++) {
			(void)put_head((struct file_head){ .problem = problem,
							   .error = error,
							   .mode = error << 12,
							   .size = INT64_MAX,
							   .count = UINT64_MAX },
				       target);
			cr_assert_gt(file_answer_read(bytes, sizeof(bytes), &answer), 0);
			file_problem_text(&answer, text);
			cr_assert_gt(strlen(text), 10);
			cr_assert_lt(strlen(text), sizeof(text));
			for (const char *c = text; *c; c++)
				cr_assert(*c >= ' ' && *c < 0x7f, "%s", text);
		}
	}
	(void)put_head((struct file_head){ .problem = FILE_DANGLING }, target);
	(void)file_answer_read(bytes, sizeof(bytes), &answer);
	file_problem_text(&answer, text);
	cr_assert(strstr(text, "\"a\\x1b[31m\\xff\\x5c"), "%s", text);
	cr_assert(strstr(text, "name the file itself"), "%s", text);
}

Test(file_answer, what_is_asked_has_room_or_not)
{
	static struct ipc_file_start ask;
	static char word[sizeof(ask.argv)];
	size_t words = 0;

	memset(word, 'x', sizeof(word));
	cr_assert(file_ask_word(&ask, "read", 4));
	cr_assert(file_ask_number(&ask, UINT64_MAX));
	cr_assert_eq(memcmp(ask.argv,
			    "read\0"
			    "18446744073709551615\0",
			    26),
		     0);
	cr_assert_not(file_ask_word(&ask, "a\0b", 3), "two words in one");
	cr_assert_not(file_ask_word(&ask, word, sizeof(ask.argv) - ask.argv_size));
	while (file_ask_word(&ask, word, 1000))
		words++;
	cr_assert_eq(words, (sizeof(ask.argv) - 26) / 1001);
	cr_assert_leq(ask.argv_size, sizeof(ask.argv));
}

Test(file_answer, lines_and_what_is_none)
{
	static const struct {
		struct file_line line;
		size_t size;
		long taken;
	} rows[] = {
		{ { .size = 3, .shown = 3 }, 3, sizeof(struct file_line) + 3 },
		{ { .size = 9, .shown = 3 }, 3, sizeof(struct file_line) + 3 },
		{ { .size = 3, .shown = 3 }, 2, 0 },
		{ { .size = 2, .shown = 3 }, 3, -EBADMSG },
		{ { .size = UINT64_MAX, .shown = 3 }, 3, -EBADMSG },
		{ { .size = FILE_LINE_MAX + 1, .shown = FILE_LINE_MAX + 1 }, 0, -EBADMSG },
		{ { .size = 3, .shown = 3, .flags = FILE_LINE_LAST }, 3, -EBADMSG },
		{ { .size = 3, .flags = FILE_LINE_LAST }, 0, sizeof(struct file_line) },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t record[sizeof(struct file_line) + 3] = { 0 };
		struct file_shown shown;

		memcpy(record, &rows[i].line, sizeof(rows[i].line));
		cr_assert_eq(
			file_shown_read(record, sizeof(struct file_line) + rows[i].size, &shown),
			rows[i].taken, "row %zu", i);
		cr_assert_eq(file_shown_read(record, sizeof(struct file_line) - 1, &shown), 0);
	}
}
