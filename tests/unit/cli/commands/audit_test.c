/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the audit log: lines of any size and form, and the place that it is in. What verify finds
 * is tried on real logs (tests/integration/audit_verify.py).
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit_read.h"
#include "common/fd.h"
#include "common/text/format.h"
#include "launcher/host/state_place.h"

static char root[] = "/tmp/msp-test-XXXXXX";
static char text[STATE_PLACE_TEXT_MAX];
static char path[IPC_PATH_MAX];

static void make_root(void)
{
	cr_assert(mkdtemp(root));
}

static void remove_root(void)
{
	static const char *const names[] = { "a/audit", "audit", "a", "" };
	char name[64];

	for (size_t i = 0; i < 4; i++) {
		format_text(name, sizeof(name), "%s/%s", root, names[i]);
		(void)unlink(name); /* one of both, or it is not there */
		(void)rmdir(name);
	}
}

TestSuite(audit_place, .init = make_root, .fini = remove_root);

/* --- records ---------------------------------------------------------------------------------- */

#define HEAD "{\"seq\":1,\"time_us\":2,\"pid\":3,\"event\":\"stop\""
#define HASH_TEXT "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TAIL AUDIT_PREVIOUS HASH_TEXT "\"" AUDIT_HASH HASH_TEXT AUDIT_END

static bool is_record(const char *line)
{
	return audit_is_record(line, strlen(line));
}

Test(audit, records)
{
	cr_expect(is_record(HEAD TAIL));
	cr_expect(is_record(HEAD ",\"n\":18446744073709551615,\"t\":\"\",\"u\":\"a b\"" TAIL));
	cr_expect(is_record(HEAD ",\"c\":[\"\"],\"d\":[\"a\",\"\",\"],[\\u0022\\u00ff\"]" TAIL));
}

Test(audit, what_is_no_record)
{
	static const char *const lines[] = {
		"",
		"\n",
		"{}\n",
		HEAD "}\n",
		HEAD ",\"n\":-1" TAIL,
		HEAD ",\"n\":1.5" TAIL,
		HEAD ",\"n\":" TAIL,
		HEAD ",\"n\":123456789012345678901" TAIL,
		HEAD ",\"n\":[1]" TAIL,
		HEAD ",\"n\":[]" TAIL,
		HEAD ",\"n\":[\"a\"" TAIL,
		HEAD ",\"n\":[\"a\",]" TAIL,
		HEAD ",\"n\":[\"a\" \"b\"]" TAIL,
		HEAD ",\"n\":[\"a\",1]" TAIL,
		HEAD ",\"n\":[[\"a\"]]" TAIL,
		HEAD ",\"n\":[\"a]" TAIL,
		HEAD ",\"n\":[\"\\\"\"]" TAIL,
		HEAD ",\"n\":[\"\\u0000\"]" TAIL,
		HEAD ",\"n\":[\"\\u00\"]" TAIL,
		HEAD ",\"n\":[\"\\u01ff\"]" TAIL,
		HEAD ",\"n\":[\"\\u00FF\"]" TAIL,
		HEAD ",\"n\":[\"a\x1b\"]" TAIL,
		HEAD ",\"n\":[\"\xc3\xa4\"]" TAIL,
		HEAD ",\"n\":[\"",
		HEAD ",\"n\":[",
		HEAD ",\"n\":[\"\\u00",
		HEAD ",\"n\":{\"a\":1}" TAIL,
		HEAD ",\"n\":null" TAIL,
		HEAD ",\"t\":\"a\\\"b\"" TAIL,
		HEAD ",\"t\":\"a\x1b\"" TAIL,
		HEAD ",\"t\":\"\xc3\xa4\"" TAIL,
		HEAD ", \"t\":1" TAIL,
		HEAD "," TAIL,
		HEAD TAIL HEAD TAIL,
		HEAD TAIL " ",
		" " HEAD TAIL,
		"{\"seq\":1,\"pid\":2,\"time_us\":3,\"event\":\"stop\"" TAIL,
		"{\"seq\":1,\"time_us\":2,\"pid\":3,\"event\":4" TAIL,
		"{\"seq\":1,\"time_us\":2,\"pid\":3,\"event\":[\"stop\"]" TAIL,
		"{\"seq\":\"1\",\"time_us\":2,\"pid\":3,\"event\":\"stop\"" TAIL,
		HEAD ",\"hash\":\"" HASH_TEXT "\"" AUDIT_HASH HASH_TEXT AUDIT_END,
		HEAD AUDIT_PREVIOUS
		"X123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"" AUDIT_HASH
			HASH_TEXT AUDIT_END,
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		cr_expect_not(is_record(lines[i]), "%zu: %s", i, lines[i]);
}

Test(audit, fields_by_key)
{
	static const char line[] = HEAD ",\"n\":42,\"t\":\"pid\"" TAIL;
	struct audit_value value;

	cr_assert(audit_value_find(line, strlen(line), "n", &value));
	cr_expect_eq(audit_value_number(&value), 42UL);
	cr_expect_not(audit_value_is(&value, "42"));
	cr_assert(audit_value_find(line, strlen(line), "t", &value));
	cr_expect(audit_value_is(&value, "pid"));
	cr_expect_not(audit_value_is(&value, "pi"));
	cr_expect_not(audit_value_find(line, strlen(line), "tt", &value));
}

Test(audit, words_of_a_command)
{
	static const char line[] =
		HEAD ",\"c\":[\",a\",\"\",\"\\u0022,\\u0022\",\"\\u00e4\\u000ab\"]"
		     ",\"n\":7" TAIL;
	static const char expected[] = ",a\0\0\",\"\0\xe4\nb";
	static char words[AUDIT_LINE_MAX];
	struct audit_value value;

	cr_assert(audit_value_find(line, strlen(line), "c", &value));
	cr_expect(value.is_list && value.is_text);
	cr_assert_eq(audit_value_words(&value, words), sizeof(expected));
	cr_expect_eq(memcmp(words, expected, sizeof(expected)), 0);
	cr_assert(audit_value_find(line, strlen(line), "n", &value));
	cr_expect_not(value.is_list || value.is_text);
}

/* --- lines ------------------------------------------------------------------------------------ */

static struct audit_reader reader;

static void read_from(const char *bytes, size_t size, uint64_t left)
{
	const int fd = fd_sealed_from_bytes("log", bytes, size);

	cr_assert_geq(fd, 0);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	audit_reader_init(&reader, fd, left);
}

static void expect_line(const char *expected, uint64_t number)
{
	const char *line;
	size_t size;

	cr_assert_eq(audit_reader_next(&reader, &line, &size), 1);
	cr_expect_eq(size, strlen(expected));
	cr_expect_eq(memcmp(line, expected, size), 0);
	cr_expect_eq(reader.line, number);
}

Test(audit, lines)
{
	const char *line;
	size_t size;

	read_from("one\n\nthree\nend", 14, UINT64_MAX);
	expect_line("one\n", 1);
	expect_line("\n", 2);
	expect_line("three\n", 3);
	expect_line("end", 4);
	cr_expect_eq(audit_reader_next(&reader, &line, &size), 0);
	read_from("one\ntwo\n", 8, 6);
	expect_line("one\n", 1);
	expect_line("tw", 2);
}

Test(audit, a_line_of_any_length_is_one)
{
	static char bytes[40 * AUDIT_LINE_MAX];
	const char *line;
	size_t total = 0;
	size_t size;

	memset(bytes, 'x', sizeof(bytes));
	bytes[sizeof(bytes) - 3] = '\n';
	bytes[sizeof(bytes) - 1] = '\n';
	read_from(bytes, sizeof(bytes), UINT64_MAX);
	while (total < sizeof(bytes) - 2) {
		cr_assert_eq(audit_reader_next(&reader, &line, &size), 1);
		cr_expect_leq(size, (size_t)AUDIT_LINE_MAX + 1);
		cr_expect_eq(reader.line, 1UL);
		total += size;
	}
	cr_expect_eq(total, sizeof(bytes) - 2);
	expect_line("x\n", 2);
}

/* --- the place -------------------------------------------------------------------------------- */

static void name_state(const char *below)
{
	char state[64];

	format_text(state, sizeof(state), "%s%s", root, below);
	cr_assert_eq(setenv("MSP_STATE_DIR", state, 1), 0);
}

Test(audit_place, is_made_for_us_alone)
{
	struct stat status;
	int fd;

	name_state("/a");
	cr_assert(state_place_find(STATE_PLACE_AUDIT, path, text));
	cr_expect_eq(state_place_open(path, false, text), -ENOENT);
	fd = state_place_open(path, true, text);
	cr_assert_geq(fd, 0, "%s", text);
	cr_assert_eq(fstat(fd, &status), 0);
	cr_expect_eq(status.st_mode & 07777, (mode_t)0700);
	cr_expect(fd_is_kind(fd, 'd'));
	cr_expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	fd_close(&fd);
}

Test(audit_place, must_be_closed_to_others)
{
	name_state("");
	cr_assert(state_place_find(STATE_PLACE_AUDIT, path, text));
	cr_assert_eq(mkdir(path, 0700), 0);
	for (mode_t bit = 1; bit < 0100; bit <<= 1) {
		cr_assert_eq(chmod(path, 0700 | bit), 0);
		cr_expect_eq(state_place_open(path, true, text), -EPERM);
		cr_expect(strstr(text, "chmod 700"), "%s", text);
	}
}

/* The cause is that of the first directory, not of a later look at it. */
Test(audit_place, cannot_be_made)
{
	if (geteuid() == 0)
		cr_skip("root may write anywhere");
	cr_assert_eq(chmod(root, 0500), 0);
	name_state("/a/b");
	cr_assert(state_place_find(STATE_PLACE_AUDIT, path, text));
	cr_expect_eq(state_place_open(path, true, text), -EACCES);
	cr_expect(strstr(text, "EACCES"), "%s", text);
	cr_assert_eq(chmod(root, 0700), 0);
	cr_assert_eq(state_place_open(path, false, text), -ENOENT); /* control */
}

Test(audit_place, must_be_ours)
{
	if (geteuid() != 0)
		cr_skip("needs root to give a directory away");
	name_state("");
	cr_assert(state_place_find(STATE_PLACE_AUDIT, path, text));
	cr_assert_eq(mkdir(path, 0700), 0);
	cr_assert_eq(chown(path, 1, 1), 0);
	cr_expect_eq(state_place_open(path, true, text), -EPERM);
	cr_expect(strstr(text, "belongs to user 1,"), "%s", text);
}

Test(audit_place, must_be_no_link)
{
	name_state("");
	cr_assert(state_place_find(STATE_PLACE_AUDIT, path, text));
	cr_assert_eq(symlink("/tmp", path), 0);
	cr_expect_lt(state_place_open(path, true, text), 0);
	cr_expect(strstr(text, "symbolic link"), "%s", text);
}

Test(audit_place, a_home_counts_when_it_is_ours)
{
	char expected[128];

	cr_assert_eq(unsetenv("MSP_STATE_DIR"), 0);
	cr_assert_eq(setenv("HOME", root, 1), 0);
	cr_assert(state_place_find(STATE_PLACE_AUDIT, path, text));
	format_text(expected, sizeof(expected), "%s/.local/state/msp/audit", root);
	cr_expect_str_eq(path, expected);
	cr_assert_eq(setenv("HOME", geteuid() == 0 ? "/nonexistent" : "/", 1), 0);
	(void)state_place_find(STATE_PLACE_AUDIT, path, text); /* the account may have one */
	cr_expect_str_neq(path, "/.local/state/msp/audit");
}

Test(audit_place, a_relative_one_is_none)
{
	cr_assert_eq(setenv("MSP_STATE_DIR", "state", 1), 0);
	cr_expect_not(state_place_find(STATE_PLACE_AUDIT, path, text));
	cr_expect(strstr(text, "MSP_STATE_DIR=state is no absolute path"), "%s", text);
}
