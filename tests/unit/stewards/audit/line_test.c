/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of the audit log, as messages and as lines.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "common/ipc/ipc_audit.h"
#include "line.h"

TestSuite(audit, .timeout = 120);

static struct audit_line line;
static char hash[AUDIT_HASH_MAX];
static uint64_t lost;

static void write_line(const struct audit_field *fields, size_t count)
{
	const struct audit_stamp stamp = { 7, 8, 9, lost };
	const struct audit_head none = audit_head_none();
	static struct ipc_audit_record record;

	audit_record_make(&record, AUDIT_STOP, fields, count);
	cr_assert(audit_record_is_right(&record));
	audit_line_write(&line, &stamp, &record, none.hash, hash);
}

Test(audit, a_line)
{
	const uint8_t bytes[SHA256_BYTES] = { 0x01, 0xfe };
	const struct audit_field fields[] = { AUDIT_NUMBER(count, UINT64_MAX),
					      AUDIT_TEXT(reason, "a b"),
					      AUDIT_SHA256(sha256, bytes) };
	static const char start[] =
		"{\"seq\":7,\"time_us\":8,\"pid\":9,\"event\":\"stop\","
		"\"count\":18446744073709551615,\"reason\":\"a b\",\"sha256\":\"01fe0000";
	struct audit_link link;

	write_line(fields, 3);
	cr_expect_eq(strncmp(line.bytes, start, strlen(start)), 0, "%.200s", line.bytes);
	cr_assert(audit_link_read(line.bytes, line.used, &link));
	cr_expect(link.is_intact);
	cr_expect_eq(link.seq, 7UL);
	cr_expect_str_eq(link.hash, hash);
	cr_expect_str_eq(link.previous, audit_head_none().hash);
}

Test(audit, nothing_needs_an_escape)
{
	const struct audit_field field = AUDIT_TEXT(reason, "a\"b\\c\nd\x1b\xc3\xa4\x7f");

	write_line(&field, 1);
	cr_expect(strstr(line.bytes, "\"reason\":\"a?b?c?d????\""), "%.200s", line.bytes);
}

Test(audit, the_longest_line_fits)
{
	struct audit_field fields[IPC_AUDIT_FIELDS_MAX];
	static char longest[IPC_AUDIT_TEXT_MAX + 100];

	memset(longest, 'x', sizeof(longest) - 1);
	for (size_t i = 0; i < IPC_AUDIT_FIELDS_MAX; i++)
		fields[i] = AUDIT_TEXT(environment_count, longest);
	lost = UINT64_MAX;
	write_line(fields, IPC_AUDIT_FIELDS_MAX);
	cr_expect_leq(line.used, sizeof(line.bytes));
}

Test(audit, a_command_is_a_list_of_its_arguments)
{
	static const char argv[] = "sh\0-c\0echo \"a\\\",\"b\n\x1b\xc3\xa4\x7f\0";
	const struct audit_field field = AUDIT_COMMAND(command, argv, sizeof(argv));

	write_line(&field, 1);
	cr_expect(strstr(line.bytes, "\"command\":[\"sh\",\"-c\",\"echo \\u0022a\\u005c\\u0022,"
				     "\\u0022b\\u000a\\u001b\\u00c3\\u00a4\\u007f\",\"\"],"),
		  "%.200s", line.bytes);
}

Test(audit, a_long_command_is_cut)
{
	static char argv[IPC_AUDIT_COMMAND_MAX + 100] = "x";
	const struct audit_field field = AUDIT_COMMAND(command, argv, sizeof(argv));

	memset(argv + 2, 'y', sizeof(argv) - 3);
	write_line(&field, 1);
	cr_expect(strstr(line.bytes, "\"command\":[\"x\",\"yyyy"), "%.200s", line.bytes);
	cr_expect_eq(strspn(strchr(line.bytes, 'y'), "y"), IPC_AUDIT_COMMAND_MAX - 2UL);
}

/* Each field of the begin of an execution that can be beside a command, at its longest. */
Test(audit, the_longest_command_fits)
{
	static char argv[IPC_AUDIT_COMMAND_MAX], name[IPC_NAME_MAX];
	const uint8_t bytes[SHA256_BYTES] = { 1 };
	const struct audit_field fields[] = {
		AUDIT_NUMBER(execution, UINT64_MAX),
		AUDIT_NUMBER(frontend, UINT64_MAX),
		AUDIT_NUMBER(request, UINT64_MAX),
		AUDIT_TEXT(profile, name),
		AUDIT_NUMBER(argv_count, UINT64_MAX),
		AUDIT_NUMBER(argv_bytes, UINT64_MAX),
		AUDIT_SHA256(argv_sha256, bytes),
		AUDIT_NUMBER(environment_count, UINT64_MAX),
		AUDIT_NUMBER(environment_bytes, UINT64_MAX),
		AUDIT_NUMBER(timeout_ms, UINT64_MAX),
		AUDIT_NUMBER(tty, UINT64_MAX),
		AUDIT_TEXT(sandbox, "01234567890123456789012345"),
		AUDIT_NUMBER(code_bytes, UINT64_MAX),
		AUDIT_SHA256(code_sha256, bytes),
		AUDIT_COMMAND(command, argv, sizeof(argv)),
		AUDIT_NUMBER(command_missing, UINT64_MAX),
	};
	struct audit_link link;

	memset(name, 'x', sizeof(name) - 1);
	memset(argv, 0xff, sizeof(argv));
	lost = UINT64_MAX;
	write_line(fields, sizeof(fields) / sizeof(fields[0]));
	cr_assert(audit_link_read(line.bytes, line.used, &link));
	cr_expect(link.is_intact);
}

Test(audit, every_change_of_a_line_is_seen)
{
	const struct audit_field field = AUDIT_TEXT(reason, "text");
	struct audit_link link;
	size_t unseen = 0;

	write_line(&field, 1);
	for (size_t i = 0; i < line.used; i++) {
		line.bytes[i] ^= 1;
		unseen += audit_link_read(line.bytes, line.used, &link) && link.is_intact;
		line.bytes[i] ^= 1;
	}
	for (size_t size = 0; size < line.used; size++)
		unseen += audit_link_read(line.bytes, size, &link);
	cr_expect_eq(unseen, 0UL);
}

Test(audit, heads)
{
	struct audit_head head = { .seq = UINT64_MAX, .size = 17 };
	struct audit_head read;
	char bytes[AUDIT_HEAD_BYTES];
	size_t taken = 0;

	memcpy(head.hash, audit_head_none().hash, sizeof(head.hash));
	audit_head_write(&head, bytes);
	cr_assert(audit_head_read(bytes, &read));
	cr_expect_eq(read.seq, head.seq);
	cr_expect_eq(read.size, head.size);
	cr_expect_str_eq(read.hash, head.hash);
	cr_expect_eq(bytes[AUDIT_HEAD_BYTES - 1], '\n');
	for (size_t i = 0; i < sizeof(bytes); i++) {
		const char before = bytes[i];

		bytes[i] = '!';
		taken += audit_head_read(bytes, &read);
		bytes[i] = before;
	}
	cr_expect_leq(taken, 19UL + 17UL, "%zu", taken); /* leading spaces are no part of it */
}

static struct ipc_audit_record good(void)
{
	const uint8_t bytes[SHA256_BYTES] = { 1 };
	const struct audit_field fields[] = { AUDIT_TEXT(reason, "text"),
					      AUDIT_SHA256(sha256, bytes), AUDIT_NUMBER(count, 1) };
	struct ipc_audit_record record;

	audit_record_make(&record, AUDIT_LIMIT, fields, 3);
	return record;
}

Test(audit, a_record_of_another_form_is_not_right)
{
	struct ipc_audit_record record = good();

	cr_expect(audit_record_is_right(&record));
	record.event = AUDIT_EVENT_COUNT;
	cr_expect_not(audit_record_is_right(&record));
	record = good();
	record.field_count = IPC_AUDIT_FIELDS_MAX + 1;
	cr_expect_not(audit_record_is_right(&record));
	record = good();
	record.texts_size--;
	cr_expect_not(audit_record_is_right(&record));
	record = good();
	record.fields[0].key = AUDIT_KEY_COUNT;
	cr_expect_not(audit_record_is_right(&record));
	record = good();
	record.fields[0].key = AUDIT_KEY_NONE;
	cr_expect_not(audit_record_is_right(&record));
	record = good();
	record.fields[0].kind = AUDIT_KIND_COUNT;
	cr_expect_not(audit_record_is_right(&record));
	record = good();
	record.fields[0].value = UINT64_MAX;
	record.fields[1].value += record.texts_size - UINT64_MAX;
	cr_expect_not(audit_record_is_right(&record));
	record = good();
	record.fields[1].value--;
	record.texts_size--;
	cr_expect_not(audit_record_is_right(&record));
}

Test(audit, a_command_that_leaves_no_room_is_not_right)
{
	static char argv[IPC_AUDIT_COMMAND_MAX], longest[IPC_AUDIT_TEXT_MAX + 1];
	struct audit_field fields[] = { AUDIT_COMMAND(command, argv, sizeof(argv)),
					AUDIT_TEXT(reason, longest), AUDIT_TEXT(reason, longest) };
	static struct ipc_audit_record record;

	memset(longest, 'x', sizeof(longest) - 1);
	audit_record_make(&record, AUDIT_LIMIT, fields, 2);
	cr_expect(audit_record_is_right(&record));
	record.fields[0].value++;
	record.texts_size++;
	cr_expect_not(audit_record_is_right(&record));
	audit_record_make(&record, AUDIT_LIMIT, fields, 3);
	cr_expect_not(audit_record_is_right(&record));
}

Test(audit, fields_without_a_key_are_left_out)
{
	const struct audit_field fields[] = { { 0 }, AUDIT_NUMBER(count, 1), { 0 } };
	struct ipc_audit_record record;

	audit_record_make(&record, AUDIT_LIMIT, fields, 3);
	cr_expect_eq(record.field_count, 1U);
	cr_expect_eq(record.fields[0].key, (uint32_t)AUDIT_KEY_count);
}
