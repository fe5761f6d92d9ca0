/* SPDX-License-Identifier: Apache-2.0
 *
 * Which notes of a sandbox's history are commands, and that a terminal obeys nothing of them.
 */
#include "audit/sandbox_history.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/records/history.h"
#include "common/text/format.h"
#include "lib/heap/buffer.h"

#define ID "2rgbftc2erh915t6ckfprby7fr"
#define TIME_US 1795662735032927U

static char root[64];
static char path[256];
static int audit = -1;

static void begin_history(void)
{
	format_text(root, sizeof(root), "/tmp/msp-test-XXXXXX");
	cr_assert(mkdtemp(root));
	format_text(path, sizeof(path), "mkdir -p %s/audit %s/sandboxes/" ID, root, root);
	cr_assert_eq(system(path), 0);
	format_text(path, sizeof(path), "%s/audit", root);
	audit = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(audit, 0);
	format_text(path, sizeof(path), "%s/sandboxes/" ID "/" HISTORY_FILE, root);
}

static void end_history(void)
{
	char command[96];

	fd_close(&audit);
	format_text(command, sizeof(command), "rm -rf %s", root);
	cr_assert_eq(system(command), 0);
}

TestSuite(sandbox_history, .init = begin_history, .fini = end_history);

static void append(const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(fd_write_all(fd, bytes, size), 0);
	fd_close(&fd);
}

static struct history_note note_of(uint64_t execution, const char *argv, size_t argv_size,
				   const char *code)
{
	struct history_note note = { .time_us = TIME_US, .execution = execution, .pid = 5 };

	note.argv_size = (uint32_t)argv_size;
	note.code_size = (uint32_t)strlen(code);
	memcpy(note.text, argv, argv_size);
	memcpy(note.text + argv_size, code, note.code_size);
	return note;
}

static void add(uint64_t execution, const char *argv, size_t argv_size, const char *code)
{
	const struct history_note note = note_of(execution, argv, argv_size, code);

	append(&note, sizeof(note));
}

static const struct history_note *find(uint64_t execution)
{
	return sandbox_history_find(5, execution, TIME_US);
}

/* Compare what is printed, on a line of its own, and the members of JSON. */
static void expect_shown(uint64_t execution, const char *text, const char *json)
{
	struct buffer members = { 0 };
	char shown[4096] = "";
	FILE *out = tmpfile();
	FILE *saved = stdout;

	cr_assert(find(execution));
	stdout = out;
	sandbox_history_print(find(execution));
	stdout = saved;
	rewind(out);
	(void)fread(shown, 1, sizeof(shown) - 1, out);
	(void)fclose(out);
	cr_expect_str_eq(shown, text);
	sandbox_history_put(find(execution), &members);
	cr_expect_str_eq(members.bytes, json);
	buffer_done(&members);
}

#define ADD(execution, argv) add(execution, argv, sizeof(argv), "")

Test(sandbox_history, words_are_as_a_shell_takes_them)
{
	ADD(1, "echo\0a b\0it's\0\0-x=1");
	sandbox_history_open(audit, ID);
	expect_shown(1, "echo 'a b' 'it'\\''s' '' -x=1",
		     "\"argv\":[\"echo\",\"a b\",\"it's\",\"\",\"-x=1\"]");
}

Test(sandbox_history, code_is_its_first_line)
{
	add(1, "python3\0-", sizeof("python3\0-"), "import os\nprint(1)\n");
	add(2, "python3\0-", sizeof("python3\0-"), "print(1)\n");
	sandbox_history_open(audit, ID);
	expect_shown(1, "code: import os ...",
		     "\"argv\":[\"python3\",\"-\"],\"code\":\"import os\\nprint(1)\\n\"");
	expect_shown(2, "code: print(1)", "\"argv\":[\"python3\",\"-\"],\"code\":\"print(1)\\n\"");
}

Test(sandbox_history, a_terminal_obeys_nothing)
{
	ADD(1, "a\x1b]0;x\x07\n\xff\xc2\x9b\xe2\x80\xae\r");
	sandbox_history_open(audit, ID);
	expect_shown(1, "'a^[]0;x^G^J<FF><U+009B><U+202E>^M'",
		     "\"argv\":[\"a\\u001b]0;x\\u0007\\n\xef\xbf\xbd\\u009b\\u202e\\r\"]");
}

Test(sandbox_history, a_long_command_is_cut_off)
{
	char argv[HISTORY_TEXT_MAX];
	char text[HISTORY_TEXT_MAX + 8];
	char json[HISTORY_TEXT_MAX + 16];

	memset(argv, 'x', sizeof(argv));
	add(1, argv, sizeof(argv), "");
	format_text(text, sizeof(text), "%.480s ...", argv);
	format_text(json, sizeof(json), "\"argv\":[\"%.480s\"]", argv);
	sandbox_history_open(audit, ID);
	expect_shown(1, text, json);
}

Test(sandbox_history, a_part_of_a_note_hides_no_other)
{
	const struct history_note part = note_of(2, "torn", sizeof("torn"), "");

	ADD(1, "whole");
	append(&part, sizeof(part) - 1);
	sandbox_history_open(audit, ID);
	cr_expect(find(1));
	cr_expect_null(find(2));
}

Test(sandbox_history, a_hole_is_no_command)
{
	struct history_note hole = { .time_us = TIME_US, .execution = 1, .pid = 5 };

	append(&hole, sizeof(hole));
	hole.execution = 2;
	hole.argv_size = 5;
	append(&hole, sizeof(hole));
	hole.execution = 3;
	hole.argv_size = HISTORY_TEXT_MAX + 1;
	hole.text[0] = 'x';
	append(&hole, sizeof(hole));
	hole.execution = 4;
	hole.argv_size = HISTORY_TEXT_MAX;
	hole.code_size = UINT32_MAX;
	append(&hole, sizeof(hole));
	ADD(5, "whole");
	sandbox_history_open(audit, ID);
	for (uint64_t execution = 1; execution <= 4; execution++)
		cr_expect_null(find(execution), "%d", (int)execution);
	cr_expect(find(5));
}

Test(sandbox_history, an_execution_is_its_supervisors)
{
	ADD(1, "a");
	sandbox_history_open(audit, ID);
	cr_expect(find(1));
	cr_expect_null(sandbox_history_find(6, 1, TIME_US));
	cr_expect_null(sandbox_history_find(5, 1, TIME_US + 100000000),
		       "a process with its number");
	cr_expect_null(find(2));
	ADD(2, "b");
	cr_expect(find(2), "added meanwhile");
}

Test(sandbox_history, only_files_are_read)
{
	cr_assert_eq(mkfifo(path, 0600), 0);
	sandbox_history_open(audit, ID);
	cr_expect_null(find(1), "nor waited for");
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(symlink("elsewhere", path), 0);
	sandbox_history_open(audit, ID);
	cr_expect_null(find(1));
	cr_assert_eq(unlink(path), 0);
	sandbox_history_open(audit, ID);
	cr_expect_null(find(1), "there is none");
}
