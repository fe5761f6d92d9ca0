/* SPDX-License-Identifier: Apache-2.0
 *
 * ClientHellos whole, split at every byte and over records, and wrong ones.
 */
#include "gateway/egress/hello.h"

#include <criterion/criterion.h>
#include <string.h>

static uint8_t bytes[70000];
static size_t size;

static void put(const void *data, size_t length)
{
	memcpy(bytes + size, data, length);
	size += length;
}

static void put_number(size_t value, size_t width)
{
	for (size_t i = width; i > 0; i--) {
		const uint8_t byte = (uint8_t)(value >> (8 * (i - 1)));

		put(&byte, 1);
	}
}

static void put_name(const char *name, size_t length)
{
	put_number(0, 2);
	put_number(length + 5, 2);
	put_number(length + 3, 2);
	put_number(0, 1);
	put_number(length, 2);
	put(name, length);
}

/* Make a hello with these bytes of extensions, in one record. */
static void make_hello(const void *extensions, size_t length, size_t padding)
{
	static const uint8_t zeros[20000];
	const size_t body =
		2 + 32 + 1 + 2 + 2 + 1 + 1 + 2 + length + (padding > 0 ? padding + 4 : 0);

	size = 0;
	put("\x16\x03\x01", 3);
	put_number(body + 4, 2);
	put_number(1, 1);
	put_number(body, 3);
	put("\x03\x03", 2);
	put(zeros, 32);
	put_number(0, 1);
	put_number(2, 2);
	put("\x13\x01", 2);
	put_number(1, 1);
	put_number(0, 1);
	put_number(length + (padding > 0 ? padding + 4 : 0), 2);
	put(extensions, length);
	if (padding > 0) {
		put_number(21, 2);
		put_number(padding, 2);
		put(zeros, padding);
	}
}

static void make_named(const char *name, size_t length, size_t padding)
{
	static uint8_t extension[1024];
	size_t used;

	size = 0;
	put_name(name, length);
	used = size;
	memcpy(extension, bytes, used);
	make_hello(extension, used, padding);
}

static enum hello_verdict read_hello(char name[HOST_NAME_MAX_SIZE])
{
	memset(name, 0, HOST_NAME_MAX_SIZE);
	return hello_read(bytes, size, name);
}

Test(hello, named)
{
	char name[HOST_NAME_MAX_SIZE];

	make_named("Example.ORG", 11, 0);
	cr_expect_eq(read_hello(name), HELLO_NAMED);
	cr_expect_str_eq(name, "example.org");
	make_named("example.org", 11, 1700); /* as with a post-quantum key */
	cr_expect_eq(read_hello(name), HELLO_NAMED);
	put("\x17\x03\x03\x00\x01x", 6); /* early data */
	cr_expect_eq(read_hello(name), HELLO_NAMED);
}

Test(hello, each_part_of_one_needs_more)
{
	char name[HOST_NAME_MAX_SIZE];
	size_t whole;

	make_named("example.org", 11, 300);
	whole = size;
	for (size = 0; size < whole; size++)
		cr_assert_eq(read_hello(name), HELLO_PART, "%zu of %zu", size, whole);
	cr_expect_eq(read_hello(name), HELLO_NAMED);
}

/* Scan the bytes as they come in pieces. Return after how many the scan has a verdict, or 0. */
static size_t scan_pieces(size_t piece, enum hello_verdict *ret)
{
	struct hello_scan scan = { .type = MESSAGE_CLIENT_HELLO };

	for (size_t there = 0; there < size; there += piece) {
		const size_t now = there + piece < size ? there + piece : size;

		*ret = hello_scan(&scan, bytes, now);
		if (*ret != HELLO_PART)
			return now;
		cr_assert_eq(scan.at, now < 5 ? 0 : now, "each byte was looked at");
	}
	return 0;
}

Test(hello, a_scan_is_complete_with_the_last_byte)
{
	enum hello_verdict verdict;

	make_named("example.org", 11, 300);
	for (size_t piece = 1; piece <= size; piece++) {
		cr_assert_eq(scan_pieces(piece, &verdict), size, "%zu", piece);
		cr_assert_eq(verdict, HELLO_WHOLE);
	}
	size--;
	cr_expect_eq(scan_pieces(1, &verdict), 0);
	size++;
	bytes[5] = 2; /* another message */
	cr_expect_eq(scan_pieces(1, &verdict), 6);
	cr_expect_eq(verdict, HELLO_OTHER);
	bytes[0] = 'G';
	cr_expect_eq(scan_pieces(1, &verdict), 1);
}

Test(hello, a_record_that_goes_on_behind_the_hello)
{
	char name[HOST_NAME_MAX_SIZE];
	enum hello_verdict verdict;
	size_t whole;

	make_named("example.org", 11, 0);
	whole = size;
	bytes[4]++; /* one byte more, which has not come */
	cr_expect_eq(read_hello(name), HELLO_MALFORMED);
	cr_expect_eq(scan_pieces(1, &verdict), whole);
	cr_expect_eq(verdict, HELLO_MALFORMED);
}

/* A host's hello in one record with other messages, asking for another hello or not. */
Test(hello, of_a_server)
{
	static const uint8_t retry[32] = { 0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11,
					   0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
					   0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e,
					   0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c };

	for (size_t length = 0; length < 60; length++) {
		struct hello_scan scan = { .type = MESSAGE_SERVER_HELLO };

		size = 0;
		put("\x16\x03\x03", 3);
		put_number(4 + length + 4, 2);
		put_number(2, 1);
		put_number(length, 3);
		put("\x03\x03", 2);
		put(retry, 32);
		memset(bytes + 43, 7, sizeof(bytes) - 43);
		size = 5 + 4 + length + 4; /* and the head of another message */
		cr_assert_eq(hello_scan(&scan, bytes, size), HELLO_WHOLE, "%zu", length);
		cr_assert_eq(hello_is_retry(bytes, 5 + 4 + length), length >= 34, "%zu", length);
		bytes[20] ^= 1;
		cr_assert_not(hello_is_retry(bytes, size));
	}
}

Test(hello, over_records_of_every_size)
{
	static uint8_t message[4096];
	char name[HOST_NAME_MAX_SIZE];
	size_t length;

	make_named("example.org", 11, 0);
	length = size - 5;
	memcpy(message, bytes + 5, length);
	for (size_t piece = 1; piece < length; piece++) {
		size = 0;
		for (size_t at = 0; at < length; at += piece) {
			const size_t part = length - at < piece ? length - at : piece;

			put("\x16\x03\x01", 3);
			put_number(part, 2);
			put(message + at, part);
		}
		cr_assert_eq(read_hello(name), HELLO_NAMED, "%zu", piece);
		cr_assert_str_eq(name, "example.org");
		size--;
		cr_assert_eq(read_hello(name), HELLO_PART, "%zu", piece);
	}
}

Test(hello, nameless)
{
	char name[HOST_NAME_MAX_SIZE];

	make_hello("", 0, 0);
	cr_expect_eq(read_hello(name), HELLO_NAMELESS);
	make_hello("", 0, 10);
	cr_expect_eq(read_hello(name), HELLO_NAMELESS);
}

Test(hello, names_in_no_spelling)
{
	static const struct {
		const char *name;
		size_t size;
	} rows[] = {
		{ "", 0 },          { "example.org\0.evil", 17 }, { "a..b", 4 }, { "127.0.0.1", 9 },
		{ "::1", 3 },       { "*.example.org", 13 },      { "-a", 2 },   { "exa mple", 8 },
		{ "b\xc3\xbc", 3 }, { "example.org/", 12 },
	};
	char name[HOST_NAME_MAX_SIZE];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_named(rows[i].name, rows[i].size, 0);
		cr_expect_eq(read_hello(name), HELLO_MALFORMED, "%s", rows[i].name);
	}
}

Test(hello, two_names)
{
	static const char one[] = "\x00\x00\x00\x06\x00\x04\x00\x00\x01"
				  "a";
	static const char two_in_list[] = "\x00\x00\x00\x0a\x00\x08\x00\x00\x01"
					  "a\x00\x00\x01"
					  "b";
	static const char other_kind[] = "\x00\x00\x00\x06\x00\x04\x01\x00\x01"
					 "a";
	static const char after_list[] = "\x00\x00\x00\x07\x00\x04\x00\x00\x01"
					 "ax";
	static char twice[2 * sizeof(one)];
	char name[HOST_NAME_MAX_SIZE];

	make_hello(one, sizeof(one) - 1, 0);
	cr_expect_eq(read_hello(name), HELLO_NAMED);
	memcpy(twice, one, sizeof(one) - 1);
	memcpy(twice + sizeof(one) - 1, one, sizeof(one) - 1);
	make_hello(twice, 2 * (sizeof(one) - 1), 0);
	cr_expect_eq(read_hello(name), HELLO_MALFORMED);
	make_hello(two_in_list, sizeof(two_in_list) - 1, 0);
	cr_expect_eq(read_hello(name), HELLO_MALFORMED);
	make_hello(other_kind, sizeof(other_kind) - 1, 0);
	cr_expect_eq(read_hello(name), HELLO_MALFORMED);
	make_hello(after_list, sizeof(after_list) - 1, 0);
	cr_expect_eq(read_hello(name), HELLO_MALFORMED);
}

Test(hello, encrypted)
{
	static const char both[] = "\x00\x00\x00\x06\x00\x04\x00\x00\x01"
				   "a\xfe\x0d\x00\x01\x00";
	static const char before[] = "\xfe\x0d\x00\x01\x00\x00\x00\x00\x06\x00\x04\x00\x00\x01"
				     "a";
	char name[HOST_NAME_MAX_SIZE];

	make_hello(both, sizeof(both) - 1, 0);
	cr_expect_eq(read_hello(name), HELLO_ENCRYPTED);
	make_hello("\xff\xce\x00\x00", 4, 0); /* its forerunner, and a draft, without a name */
	cr_expect_eq(read_hello(name), HELLO_ENCRYPTED);
	make_hello("\xfe\x08\x00\x00", 4, 0);
	cr_expect_eq(read_hello(name), HELLO_ENCRYPTED);
	make_hello("\xfe\x0e\x00\x00", 4, 0);
	cr_expect_eq(read_hello(name), HELLO_NAMELESS);
	make_hello(before, sizeof(before) - 1, 0);
	cr_expect_eq(read_hello(name), HELLO_ENCRYPTED);
}

Test(hello, other_protocols)
{
	static const char *const texts[] = {
		"GET / HTTP/1.1\r\n",   "SSH-2.0-x",
		"\x80\x2e\x01\x03\x01", "\x17\x03\x03\x00\x10",
		"\x15\x03\x01\x00\x02", "\x16\x02\x00\x00\x10",
		"PRI * HTTP/2.0",       "\x16\x03\x01\x40\x01",
		"\x05\x01\x00",         "EHLO x",
	};
	char name[HOST_NAME_MAX_SIZE];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		/* Each text has five bytes: strlen() would end at a NUL. */
		const size_t length = strlen(texts[i]) < 5 ? 5 : strlen(texts[i]);

		size = 0;
		put("\0\0\0\0\0", 5);
		size = 0;
		put(texts[i], i == 8 ? 3 : length);
		cr_expect_eq(read_hello(name), HELLO_OTHER, "%zu", i);
	}
	make_named("a.example", 9, 0);
	bytes[5] = 2; /* a ServerHello */
	cr_expect_eq(read_hello(name), HELLO_OTHER);
}

Test(hello, lengths)
{
	char name[HOST_NAME_MAX_SIZE];

	make_named("a.example", 9, 0);
	bytes[6] = 1; /* 65,536 bytes and more */
	cr_expect_eq(read_hello(name), HELLO_LONG);
	make_named("a.example", 9, 0);
	bytes[8]--; /* the message ends before its record */
	cr_expect_eq(read_hello(name), HELLO_MALFORMED);
	for (size_t at = 43; at < 60; at++) { /* each length in the hello is wrong once */
		make_named("a.example", 9, 0);
		bytes[at] ^= 0xff;
		cr_expect_neq(read_hello(name), HELLO_PART, "%zu", at);
	}
}
