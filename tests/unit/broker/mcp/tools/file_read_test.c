/* SPDX-License-Identifier: Apache-2.0
 *
 * read_sandbox_file: the text that a model gets of lines, images, bytes and other files.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>

#include "file_rig.h"
#include "persistent.h"

static struct rig rig;

static void open_rig(void)
{
	rig_open(&rig, true);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(mcp_file_read, .init = open_rig, .fini = close_rig);

/* The rig's functions, for the rig of this file. */
#define begin(...) file_rig_begin(&rig, __VA_ARGS__)
#define put(...) file_rig_put(&rig, __VA_ARGS__)
#define put_head(...) file_rig_put_head(&rig, __VA_ARGS__)
#define end(...) file_rig_end(&rig, __VA_ARGS__)

static void put_shown(const struct rig_workload *workload, const char *bytes, uint64_t size,
		      uint32_t flags)
{
	const struct file_line line = { .size = size,
					.shown = (uint32_t)strlen(bytes),
					.flags = flags };

	put(workload, &line, sizeof(line));
	put(workload, bytes, line.shown);
}

static void put_end(const struct rig_workload *workload, uint64_t total, uint32_t flags)
{
	put_shown(workload, "", total, FILE_LINE_LAST | flags);
}

static struct rig_workload begin_lines(const char *arguments, const char *words)
{
	struct rig_workload workload = begin("read_sandbox_file", arguments, words);

	put_head(&workload, (struct file_head){ .mode = S_IFREG | 0644, .form = FILE_FORM_LINES },
		 "");
	return workload;
}

#define ALL ",\"path\":\"a\""
#define ALL_WORDS "show|a|1|9007199254740991|9500|"

Test(mcp_file_read, read_lines)
{
	struct rig_workload workload =
		begin_lines(",\"path\":\"src/a b\"", "show|src/a b|1|9007199254740991|9500|");

	put_shown(&workload, "one", 3, 0);
	put_shown(&workload, "", 0, 0);
	put_shown(&workload, "\ttwo", 4, FILE_LINE_OPEN);
	put_end(&workload, 3, 0);
	expect_part(end(&workload), "\"text\":\"1→one\\n2→\\n3→\\ttwo\\n"
				    "[3 lines, all of it \u00b7 no line end at the end]\"");
	expect_part(rig.line, "\"isError\":false");
	workload = begin_lines(ALL, ALL_WORDS);
	put_end(&workload, 0, 0);
	expect_part(end(&workload), "\"[empty file]\"");
}

Test(mcp_file_read, read_lines_from_the_middle)
{
	struct rig_workload workload =
		begin_lines(ALL ",\"offset\":7,\"limit\":2", "show|a|7|2|50000|");

	put_shown(&workload, "x", 1, 0);
	put_shown(&workload, "y", 1, 0);
	put_end(&workload, 3410, 0);
	expect_part(end(&workload), "\"7→x\\n8→y\\n[lines 7 to 8 of 3410 \u00b7 more: offset=9]\"");
	workload = begin_lines(ALL ",\"offset\":7", "show|a|7|9007199254740991|9500|");
	put_shown(&workload, "x", 1, 0);
	put_end(&workload, 8, FILE_LINE_BEYOND);
	expect_part(end(&workload), "[lines 7 to 7 of more than 8 \u00b7 more: offset=8]");
	workload = begin_lines(ALL ",\"offset\":99", "show|a|99|9007199254740991|9500|");
	put_end(&workload, 1, 0);
	expect_part(end(&workload), "\"[the file has 1 line]\"");
	/* lines that were not asked for are not shown */
	workload = begin_lines(ALL ",\"limit\":1", "show|a|1|1|50000|");
	put_shown(&workload, "x", 1, 0);
	put_shown(&workload, "y", 1, 0);
	put_end(&workload, 2, 0);
	expect_part(end(&workload), "\"1→x\\n[lines 1 to 1 of 2 \u00b7 more: offset=2]\"");
}

Test(mcp_file_read, lines_are_shown_honestly)
{
	struct rig_workload workload = begin_lines(ALL, ALL_WORDS);

	put_shown(&workload, "a", 1, FILE_LINE_CRLF);
	put_shown(&workload, "b", 1, FILE_LINE_CRLF);
	put_end(&workload, 2, 0);
	expect_part(end(&workload), "[2 lines, all of it \u00b7 lines end with \\\\r\\\\n]");
	workload = begin_lines(ALL, ALL_WORDS);
	put_shown(&workload, "a", 1, FILE_LINE_CRLF);
	put_shown(&workload, "x\xff\x1b", 3, 0);
	put_end(&workload, 2, 0);
	expect_part(end(&workload),
		    "1→a\\n2→x\\\\xff\\\\x1b\\n[2 lines, all of it \u00b7 1 of these "
		    "lines ends with \\\\r\\\\n \u00b7 not only text: encoding=base64 "
		    "has the exact bytes]");
	/* a character that is cut is not shown */
	workload = begin_lines(ALL, ALL_WORDS);
	put_shown(&workload, "ab\xe2\x82", 2003, 0);
	put_end(&workload, 1, 0);
	expect_part(end(&workload), "\"1→ab …[2001 more bytes]\\n[1 line, all of it \u00b7 long "
				    "lines are cut]\"");
}

Test(mcp_file_read, read_in_base64)
{
	struct rig_workload workload =
		begin("read_sandbox_file", ALL ",\"encoding\":\"base64\"", "read|a|0|7125|");

	put_head(&workload, (struct file_head){ .size = 3, .count = 3 }, "");
	put(&workload, "one", 3);
	expect_part(end(&workload), "\"b25l\\n[3 bytes, all of it \u00b7 base64]\"");
	workload = begin("read_sandbox_file",
			 ALL ",\"encoding\":\"base64\",\"offset\":2,\"limit\":2", "read|a|2|2|");
	put_head(&workload, (struct file_head){ .size = 10, .count = 8 }, "");
	put(&workload, "cdef", 4);
	expect_part(end(&workload),
		    "\"Y2Q=\\n[bytes 2 to 4 of 10 \u00b7 truncated, more: offset=4 \u00b7 base64]");
	workload = begin("read_sandbox_file", ALL ",\"encoding\":\"base64\",\"offset\":99",
			 "read|a|99|7125|");
	put_head(&workload, (struct file_head){ .size = 10 }, "");
	expect_part(end(&workload), "[there are only 10 bytes");
}

/* What is escaped takes more room: the result stays within it and says where to go on. */
Test(mcp_file_read, what_is_shown_has_a_bound)
{
	struct rig_workload workload = begin_lines(ALL, ALL_WORDS);
	static char content[1001];

	memset(content, '\x01', 1000);
	for (int i = 0; i < 9; i++)
		put_shown(&workload, content, 1000, 0);
	put_end(&workload, 9, 0);
	expect_part(end(&workload), "[lines 1 to 2 of 9 \u00b7 more: offset=3");
}

Test(mcp_file_read, an_image)
{
	static const char png[] = "\x89PNG\r\n\x1a\n\1\1\1\1";
	struct rig_workload workload = begin("read_sandbox_file", ALL, ALL_WORDS);

	put_head(&workload, (struct file_head){ .size = 12, .form = FILE_FORM_IMAGE }, "");
	put(&workload, png, 12);
	expect_part(end(&workload),
		    "\"content\":[{\"type\":\"image\",\"data\":\"iVBORw0KGgoBAQEB\","
		    "\"mimeType\":\"image/png\"},{\"type\":\"text\",\"text\":"
		    "\"a: image/png, 12 bytes\"}],\"isError\":false");
	cr_assert_null(strstr(rig.line, "structuredContent"));
	/* others, or fewer bytes than the file has, are no image */
	for (size_t size = 0; size < 14; size += 13) {
		workload = begin("read_sandbox_file", ALL, ALL_WORDS);
		put_head(&workload, (struct file_head){ .size = 13, .form = FILE_FORM_IMAGE }, "");
		put(&workload, size == 0 ? png : "\x88PNG\r\n\x1a\n\1\1\1\1\1",
		    size == 0 ? 12 : 13);
		expect_part(end(&workload), "The answer is incomplete");
		expect_part(rig.line, "\"isError\":true");
	}
}

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

Test(mcp_file_read, a_binary_file)
{
	struct rig_workload workload = begin("read_sandbox_file", ALL, ALL_WORDS);

	put_head(&workload, (struct file_head){ .size = 4096, .form = FILE_FORM_DIGEST }, DIGEST);
	put(&workload,
	    "\x7f"
	    "ELF",
	    4);
	expect_part(end(&workload), "\"[ELF program or library, 4096 bytes, sha256 " DIGEST
				    " \u00b7 for its bytes: encoding=base64]\"");
	/* a digest that is none is not shown */
	workload = begin("read_sandbox_file", ALL, ALL_WORDS);
	put_head(&workload, (struct file_head){ .size = 7, .form = FILE_FORM_DIGEST }, "]\x1b[");
	expect_part(end(&workload), "\"[binary file, 7 bytes \u00b7 for its bytes");
	workload = begin("read_sandbox_file", ALL, ALL_WORDS);
	put_head(&workload, (struct file_head){ .size = 4000000, .form = FILE_FORM_DIGEST }, "");
	put(&workload, "\x89PNG\r\n\x1a\n\1\1\1\1", 12);
	expect_part(end(&workload), "\"[png image, 4000000 bytes: too large to be shown");
}

Test(mcp_file_read, another_form_than_asked_for)
{
	struct rig_workload workload = begin("read_sandbox_file", ALL, ALL_WORDS);

	put_head(&workload, (struct file_head){ .size = 3, .count = 3 }, "");
	put(&workload, "one", 3);
	expect_part(end(&workload), "The answer is incomplete");
	workload = begin_lines(ALL ",\"encoding\":\"base64\"", "read|a|0|7125|");
	put_end(&workload, 0, 0);
	expect_part(end(&workload), "The answer is incomplete");
	workload = begin_lines(ALL, ALL_WORDS); /* no end */
	put_shown(&workload, "x", 1, 0);
	expect_part(end(&workload), "The answer is incomplete");
}

Test(mcp_file_read, a_flood_is_bounded)
{
	struct rig_workload workload = begin_lines(ALL, ALL_WORDS);
	static char much[FILE_LINE_MAX + 1];

	memset(much, 'x', FILE_LINE_MAX);
	for (int i = 0; i < 2500; i++)
		put_shown(&workload, much, FILE_LINE_MAX, 0);
	put_end(&workload, INT64_MAX, 0);
	expect_part(end(&workload), "The answer is incomplete");
	cr_assert_lt(strlen(rig.line), 11000);
}
