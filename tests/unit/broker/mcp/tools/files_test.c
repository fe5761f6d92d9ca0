/* SPDX-License-Identifier: Apache-2.0
 *
 * read_sandbox_file, write_sandbox_file, list_sandbox_files and the resource
 * sandbox://ID/files/PATH: what is asked of msp-file, what is made of its answer, and that nobody
 * else sees the executions.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/refusal.h"
#include "common/text/names.h"
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

TestSuite(mcp_files, .init = open_rig, .fini = close_rig);

/* The rig's functions, for the rig of this file. */
#define begin(...) file_rig_begin(&rig, __VA_ARGS__)
#define put(...) file_rig_put(&rig, __VA_ARGS__)
#define put_head(...) file_rig_put_head(&rig, __VA_ARGS__)
#define end(...) file_rig_end(&rig, __VA_ARGS__)

#define ALL ",\"path\":\"a\""
#define ALL_WORDS "show|a|1|9007199254740991|9500|"

static void put_entry(const struct rig_workload *workload, struct file_entry entry,
		      const char *path, const char *link)
{
	entry.path_size = (uint32_t)strlen(path);
	entry.link_size = (uint32_t)strlen(link);
	put(workload, &entry, sizeof(entry));
	put(workload, path, entry.path_size);
	put(workload, link, entry.link_size);
}

Test(mcp_files, problems)
{
	static const struct {
		struct file_head head;
		const char *text;
		const char *part;
	} rows[] = {
		{ { .problem = FILE_ERROR, .error = ENOENT }, "", "a does not exist: list its" },
		{ { .problem = FILE_ERROR, .error = EACCES }, "", "a is refused by the sandbox's" },
		{ { .problem = FILE_ERROR, .error = EIO }, "", "a cannot be used: Input/output" },
		{ { .problem = FILE_NOT_REGULAR, .mode = S_IFIFO }, "", "a is a FIFO, and only" },
		{ { .problem = FILE_DANGLING }, "../x", "a is a symbolic link to \\\"../x\\\"," },
		{ { .problem = FILE_NO_FOLDER },
		  "/home",
		  "the last one above it is \\\"/home\\\"." },
		{ { .problem = FILE_NO_FOLDER, .error = EROFS },
		  "/home",
		  "cannot be made in \\\"/home\\\". Write to /workspace or /tmp." },
		{ { .problem = FILE_MISUSED }, "", "install all of msp's programs together" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig_workload workload = begin("read_sandbox_file", ALL, ALL_WORDS);

		put_head(&workload, rows[i].head, rows[i].text);
		expect_part(end(&workload), rows[i].part);
		expect_part(rig.line, "\"isError\":true");
	}
}

/* --- answers that are none ------------------------------------------------------------------ */

Test(mcp_files, answers_that_are_none)
{
	static const char junk[sizeof(struct file_head) + 1] = "junk";

	for (size_t size = 0; size < sizeof(junk); size++) {
		struct rig_workload workload = begin("read_sandbox_file", ALL, ALL_WORDS);

		put(&workload, junk, size);
		expect_part(end(&workload), "The file operation did not finish");
		expect_part(rig.line, "\"isError\":true");
	}
}

Test(mcp_files, it_is_ended)
{
	struct rig_workload workload = begin("read_sandbox_file", ALL, ALL_WORDS);
	const struct ipc_execution_done done = { .request = workload.request,
						 .verdict = VERDICT_TIMEOUT,
						 .signal = 9 };

	rig_workload_end(&workload);
	rig_done(&rig, &done);
	expect_part(rig_hear(&rig), "The file operation did not finish: ");
}

Test(mcp_files, it_is_refused)
{
	uint64_t request;

	persistent_say(&rig, "read_sandbox_file", "\"sandbox\":\"build\",\"path\":\"a\"");
	(void)file_rig_words(&rig, &request);
	persistent_refuse(&rig, request, REFUSAL_SANDBOX_UNKNOWN, "");
	expect_part(rig_hear(&rig), "There is no sandbox \\\"build\\\"");
	expect_part(rig.line, "Nothing was done.");
	expect_part(rig.line, "\"isError\":true");
}

/* --- writing -------------------------------------------------------------------------------- */

/* What msp-file is given, as the pieces that it takes. */
static void expect_pieces(const struct rig_workload *workload, const char *content)
{
	static char bytes[65536];
	const uint32_t size = (uint32_t)strlen(content);
	const uint32_t none = 0;
	size_t got = 0;
	ssize_t more;

	rig_turn(&rig);
	while ((more = read(workload->in, bytes + got, sizeof(bytes) - got)) > 0)
		got += (size_t)more;
	if (size > 0) {
		cr_assert_eq(got, size + 8);
		cr_assert_eq(memcmp(bytes, &size, 4), 0);
		cr_assert_eq(memcmp(bytes + 4, content, size), 0);
	}
	cr_assert_eq(memcmp(bytes + got - 4, &none, 4), 0);
}

static const char *write_text(const char *arguments, const char *words, const char *content)
{
	struct rig_workload workload = begin("write_sandbox_file", arguments, words);

	expect_pieces(&workload, content);
	put_head(&workload, (struct file_head){ .size = 12, .count = 3 }, "");
	return end(&workload);
}

Test(mcp_files, write_in_each_way)
{
	expect_part(write_text(",\"path\":\"a\",\"content\":\"one\"", "write|a|overwrite|", "one"),
		    "\"a: 3 bytes written \u00b7 12 bytes now\"");
	(void)write_text(",\"path\":\"a\",\"content\":\"\",\"mode\":\"create\"", "write|a|create|",
			 "");
	(void)write_text(",\"path\":\"a\",\"content\":\"b25l\\n\",\"encoding\":\"base64\","
			 "\"mode\":\"append\"",
			 "write|a|append|", "one");
	expect_part(write_text(",\"path\":\"a\",\"old_text\":\"two\",\"new_text\":\"2\"",
			       "edit|a|3|", "two2"),
		    "\"a: edited \u00b7 12 bytes now\"");
}

static void expect_wrong(const char *tool, const char *arguments, const char *part)
{
	char all[4096];

	(void)snprintf(all, sizeof(all), "\"sandbox\":\"build\",%s", arguments);
	persistent_say(&rig, tool, all);
	expect_part(rig_hear(&rig), part);
	expect_part(rig.line, "\"isError\":true");
	rig_take_nothing(&rig);
}

Test(mcp_files, arguments_that_do_not_go_together)
{
	expect_wrong("write_sandbox_file", "\"path\":\"a\"", "neither was given");
	expect_wrong("write_sandbox_file", "\"path\":\"a\",\"content\":\"x\",\"old_text\":\"y\"",
		     "not both");
	expect_wrong("write_sandbox_file", "\"path\":\"a\",\"old_text\":\"y\"", "needs both");
	expect_wrong("write_sandbox_file", "\"path\":\"a\",\"old_text\":\"\",\"new_text\":\"y\"",
		     "`old_text` is empty");
	expect_wrong("write_sandbox_file",
		     "\"path\":\"a\",\"old_text\":\"x\",\"new_text\":\"y\",\"mode\":\"append\"",
		     "neither `mode` nor");
	expect_wrong("write_sandbox_file",
		     "\"path\":\"a\",\"content\":\"b25\",\"encoding\":\"base64\"", "is not base64");
	expect_wrong("write_sandbox_file", "\"path\":\"\",\"content\":\"x\"", "`path` is empty");
	expect_wrong("read_sandbox_file", "\"path\":\"\"", "`path` is empty");
	expect_wrong("read_sandbox_file", "\"path\":\"a\\u0000b\"", "NUL");
	expect_wrong("list_sandbox_files", "\"depth\":65", "64");
}

Test(mcp_files, problems_of_writing)
{
	struct rig_workload workload = begin(
		"write_sandbox_file", ",\"path\":\"a\",\"content\":\"x\"", "write|a|overwrite|");

	put_head(&workload, (struct file_head){ .problem = FILE_ERROR, .error = ENOSPC }, "");
	expect_part(end(&workload), "a does not fit: the sandbox's disk space is used up, and "
				    "nothing was changed");
	workload = begin("write_sandbox_file",
			 ",\"path\":\"a\",\"old_text\":\"x\",\"new_text\":\"\"", "edit|a|1|");
	put_head(&workload, (struct file_head){ .problem = FILE_AMBIGUOUS, .count = 3 }, "");
	expect_part(end(&workload), "a holds the old text 3 times");
}

/* --- patches -------------------------------------------------------------------------------- */

static struct rig_workload begin_patch(void)
{
	struct rig_workload workload =
		begin("patch_sandbox_files", ",\"patch\":\"--- a\\n\"", "patch|");

	expect_pieces(&workload, "--- a\n");
	return workload;
}

Test(mcp_files, a_patch)
{
	struct rig_workload workload = begin_patch();

	put_head(&workload, (struct file_head){ .count = 2 }, "");
	put(&workload, "M a +1 -1\nD \x1b[2Jb\n", 18);
	expect_part(end(&workload),
		    "\"M a +1 -1\\nD \\\\x1b[2Jb\\n[2 files changed]\"}],\"isError\":false");
}

Test(mcp_files, a_patch_that_does_not_fit)
{
	struct rig_workload workload = begin_patch();
	static char much[20000];

	put_head(&workload, (struct file_head){ .problem = FILE_UNFIT }, "");
	put(&workload, "a: hunk 1 does not fit.", 23);
	expect_part(end(&workload), "\"Nothing was changed. a: hunk 1 does not fit.\"}],"
				    "\"isError\":true");
	workload = begin_patch();
	put_head(&workload, (struct file_head){ .problem = FILE_UNFIT }, "");
	memset(much, 'x', sizeof(much));
	put(&workload, much, sizeof(much));
	expect_part(end(&workload), "xxx\\n...\"");
	cr_assert_lt(strlen(rig.line), 10000);
}

Test(mcp_files, a_patch_that_fails)
{
	struct rig_workload workload = begin_patch();

	put_head(&workload, (struct file_head){ .problem = FILE_ERROR, .error = ENOENT }, "");
	put(&workload, "src/\ta", 6);
	expect_part(end(&workload), "\"Nothing was changed. \\\"src/\\\\ta\\\" does not exist:");
	workload = begin_patch();
	put_head(&workload, (struct file_head){ .problem = FILE_TORN, .error = EIO }, "");
	put(&workload, "a", 1);
	expect_part(end(&workload), "\"a could not be written, and some files are changed already");
	workload = begin_patch();
	put_head(&workload, (struct file_head){ .problem = FILE_CUT_OFF }, "");
	expect_part(end(&workload), "\"Nothing was changed. The patch is as it was");
}

/* --- listing -------------------------------------------------------------------------------- */

static const struct file_entry last, more = { .flags = FILE_ENTRY_MORE };

Test(mcp_files, list_a_directory)
{
	struct rig_workload workload = begin("list_sandbox_files", "", "list|.|1|0|200||");

	put_head(&workload, (struct file_head){ .mode = S_IFDIR }, "");
	put_entry(
		&workload,
		(struct file_entry){ .mode = S_IFREG | 0644, .size = 12, .modified_s = 1790000000 },
		"a\nb", "");
	put_entry(&workload, (struct file_entry){ .mode = S_IFDIR | 0755, .modified_s = INT64_MIN },
		  "src", "");
	put_entry(&workload, (struct file_entry){ .mode = S_IFLNK | 0777 }, "l", "/x\x1b");
	put_entry(&workload, (struct file_entry){ .mode = S_IFIFO | 0600 }, "p", "");
	put_entry(&workload, last, "", "");
	expect_part(end(&workload),
		    "\"644         12 2026-09-21T14:13:20Z \\\"a\\\\nb\\\"\\n"
		    "755          - 1970-01-01T00:00:00Z src/\\n"
		    "777          - 1970-01-01T00:00:00Z l -> \\\"/x\\\\033\\\"\\n"
		    "600          - 1970-01-01T00:00:00Z p [FIFO]\\n[4 entries, all of them]\"");
}

Test(mcp_files, list_more)
{
	struct rig_workload workload =
		begin("list_sandbox_files",
		      ",\"path\":\"/x\",\"pattern\":\"*.c\",\"offset\":5,\"limit\":1",
		      "list|/x|16|5|1|*.c|");

	put_head(&workload, (struct file_head){ .mode = S_IFDIR }, "");
	put_entry(&workload, (struct file_entry){ .mode = S_IFREG | 0644 }, "a.c", "");
	put_entry(&workload, more, "", "");
	expect_part(end(&workload), "a.c\\n[entries 6 to 6 \u00b7 more: offset=6]");
}

Test(mcp_files, a_list_that_others_wrote)
{
	static const char *const paths[] = { "../up", "/etc/passwd", "a/../../b", "" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct rig_workload workload = begin("list_sandbox_files", "", "list|.|1|0|200||");

		put_head(&workload, (struct file_head){ .mode = S_IFDIR }, "");
		put_entry(&workload, (struct file_entry){ .mode = S_IFREG }, paths[i],
			  paths[i][0] ? "" : "x");
		expect_part(end(&workload), "is incomplete");
		expect_part(rig.line, "\"isError\":true");
	}
}

Test(mcp_files, a_list_without_its_end)
{
	struct rig_workload workload = begin("list_sandbox_files", "", "list|.|1|0|200||");

	put_head(&workload, (struct file_head){ .mode = S_IFDIR }, "");
	put_entry(&workload, (struct file_entry){ .mode = S_IFREG }, "a", "");
	expect_part(end(&workload), "is incomplete");
}

/* --- the resource --------------------------------------------------------------------------- */

#define READ(uri)                                                                                  \
	"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"resources/read\",\"params\":{\"uri\":\"" uri   \
	"\"}}"

static struct rig_workload begin_read(const char *line, const char *words)
{
	const struct ipc_file_start *start;

	rig_say(&rig, line);
	start = rig_body(&rig, file_start);
	cr_assert_str_eq(start->sandbox, BOX_ID);
	cr_assert_eq(memcmp(start->argv, words, strlen(words)), 0, "%s", (const char *)start->argv);
	return rig_start(&rig, start->request);
}

Test(mcp_files, a_resource)
{
	struct rig_workload workload =
		begin_read(READ("sandbox://" BOX_ID "/files/src/a%20b.c"), "read\0src/a b.c");

	put_head(&workload, (struct file_head){ .size = 3, .count = 3 }, "");
	put(&workload, "one", 3);
	expect_part(end(&workload), "\"uri\":\"sandbox://" BOX_ID
				    "/files/src/a%20b.c\",\"mimeType\":\"text/plain\",\"text\":"
				    "\"one\"");
	workload = begin_read(READ("sandbox://" BOX_ID "/files/x"), "read\0x");
	put_head(&workload, (struct file_head){ .size = 2, .count = 2 }, "");
	put(&workload, "\xff\xfe", 2);
	expect_part(end(&workload), "\"mimeType\":\"application/octet-stream\",\"blob\":\"//4=\"");
}

Test(mcp_files, resources_that_cannot_be_read)
{
	struct rig_workload workload = begin_read(READ("sandbox://" BOX_ID "/files/x"), "read\0x");

	put_head(&workload, (struct file_head){ .size = 1 << 20, .count = 1 << 20 }, "");
	expect_part(end(&workload), "read_sandbox_file reads it in parts");
	expect_part(rig.line, "\"error\":{");
	workload = begin_read(READ("sandbox://" BOX_ID "/files/x"), "read\0x");
	put_head(&workload, (struct file_head){ .size = 5, .count = 5 }, "");
	put(&workload, "one", 3);
	expect_part(end(&workload), "could not be read completely");
	rig_say(&rig, READ("sandbox://" BOX_ID "/files/x"));
	persistent_refuse(&rig, rig_body(&rig, file_start)->request, REFUSAL_SANDBOX_UNKNOWN, "");
	expect_part(rig_hear(&rig), "Resource not found: ");
	rig_say(&rig, READ("sandbox://nobody/files/x"));
	expect_part(rig_hear(&rig), "Resource not found: ");
	rig_say(&rig, READ("sandbox://" BOX_ID "/files/"));
	expect_part(rig_hear(&rig), "Resource not found: ");
	rig_take_nothing(&rig);
}

/* --- nobody else sees it -------------------------------------------------------------------- */

Test(mcp_files, no_list_has_it)
{
	struct rig_workload workload = begin("read_sandbox_file", ALL, ALL_WORDS);

	expect_part(rig_ask(&rig, "{\"jsonrpc\":\"2.0\",\"id\":50,\"method\":\"resources/list\"}"),
		    "\"result\"");
	cr_assert_null(strstr(rig.line, "/log/"));
	put_head(&workload, (struct file_head){ .size = 0 }, "");
	(void)end(&workload);
	expect_part(rig_ask(&rig, "{\"jsonrpc\":\"2.0\",\"id\":51,\"method\":\"resources/list\"}"),
		    "\"result\"");
	cr_assert_null(strstr(rig.line, "/log/"));
}

Test(mcp_files, a_client_that_wants_it_no_more)
{
	struct rig_workload workload = begin(
		"write_sandbox_file", ",\"path\":\"a\",\"content\":\"x\"", "write|a|overwrite|");
	const struct ipc_execution_done done = { .request = workload.request,
						 .verdict = VERDICT_CANCELLED };
	char line[200];

	/* the tests' ids count up: cancel all that there may be */
	for (int i = 1; i < 60; i++) {
		(void)snprintf(line, sizeof(line),
			       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
			       "\"params\":{\"requestId\":%d}}",
			       i);
		rig_say(&rig, line);
	}
	cr_assert_eq(rig_body(&rig, execution_end)->request, workload.request);
	rig_workload_end(&workload);
	rig_done(&rig, &done);
	rig_hear_nothing(&rig);
}
