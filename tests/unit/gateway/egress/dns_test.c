/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions that programs and attackers send, and the bytes of the answers.
 */
#include "gateway/egress/dns.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <string.h>

#define TEXT(literal) (const uint8_t *)(literal), sizeof(literal) - 1

/* id 0x1234, recursion desired, one question */
#define HEAD "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
#define HOST_A                                                                                     \
	"\x03"                                                                                     \
	"Www\x07"                                                                                  \
	"example\x03"                                                                              \
	"org\0"
#define TYPE_A "\x00\x01\x00\x01"
#define TYPE_AAAA "\x00\x1c\x00\x01"

static enum dns_verdict read_query(const uint8_t *bytes, size_t size, struct dns_query *ret)
{
	memset(ret, 0, sizeof(*ret));
	return dns_read(bytes, size, ret);
}

Test(dns, a_question_for_a_host)
{
	static const uint8_t expected[] =
		"\x12\x34\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00" HOST_A TYPE_A
		"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc0\x1f\xc4\x05";
	uint8_t answer[DNS_ANSWER_MAX + 16];
	struct dns_query query;

	cr_assert_eq(read_query(TEXT(HEAD HOST_A TYPE_A), &query), DNS_ASKS);
	cr_expect_str_eq(query.name, "www.example.org");
	cr_expect_eq(dns_answer(&query, DNS_OK, inet_addr("192.31.196.5"), answer),
		     sizeof(expected) - 1);
	cr_expect_eq(memcmp(answer, expected, sizeof(expected) - 1), 0);
}

Test(dns, additional_records_are_left_unread)
{
	struct dns_query query;

	cr_expect_eq(
		read_query(TEXT("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01" HOST_A TYPE_A
				"\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"),
			   &query),
		DNS_ASKS);
}

Test(dns, answers_without_a_record)
{
	uint8_t answer[DNS_ANSWER_MAX + 16];
	struct dns_query query;

	cr_assert_eq(read_query(TEXT(HEAD HOST_A TYPE_AAAA), &query), DNS_NO_DATA);
	cr_expect_eq(dns_answer(&query, DNS_OK, 0, answer), sizeof(HEAD HOST_A TYPE_AAAA) - 1);
	cr_expect_eq(memcmp(answer, "\x12\x34\x81\x80\x00\x01\x00\x00", 8), 0);
	cr_expect_eq(dns_answer(&query, DNS_NO_NAME, inet_addr("192.31.196.5"), answer),
		     sizeof(HEAD HOST_A TYPE_AAAA) - 1);
	cr_expect_eq(answer[3], 0x80 | DNS_NO_NAME);
}

Test(dns, verdicts)
{
	static const struct {
		const uint8_t *bytes;
		size_t size;
		enum dns_verdict verdict;
	} rows[] = {
		{ TEXT(""), DNS_DROPPED },
		{ TEXT("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00"), DNS_DROPPED },
		{ TEXT("\x12\x34\x81\x00\x00\x01\x00\x00\x00\x00\x00\x00" HOST_A TYPE_A),
		  DNS_DROPPED },
		{ TEXT(HEAD), DNS_MALFORMED },
		{ TEXT(HEAD HOST_A), DNS_MALFORMED },
		{ TEXT(HEAD HOST_A "\x00\x01\x00"), DNS_MALFORMED },
		{ TEXT(HEAD "\x00" TYPE_A), DNS_MALFORMED },
		{ TEXT(HEAD "\x03www\xc0\x0c" TYPE_A), DNS_MALFORMED },
		{ TEXT(HEAD "\xc0\x0c" TYPE_A), DNS_MALFORMED },
		{ TEXT(HEAD "\x40www" TYPE_A), DNS_MALFORMED },
		{ TEXT(HEAD "\x03w.w\x03org\0" TYPE_A), DNS_MALFORMED },
		{ TEXT(HEAD "\x04"
			    "evil\0" TYPE_A),
		  DNS_ASKS },
		{ TEXT(HEAD "\x05"
			    "evil\0\x03org\0" TYPE_A),
		  DNS_MALFORMED },
		{ TEXT(HEAD "\x01*\x03org\0" TYPE_A), DNS_MALFORMED },
		{ TEXT(HEAD "\x03"
			    "127\x01"
			    "1\0" TYPE_A),
		  DNS_MALFORMED },
		{ TEXT(HEAD "\x06_https\x04_tcp\x03org\0" TYPE_A), DNS_SERVICE },
		{ TEXT(HEAD "\x06_dmarc\x03org\0" TYPE_A), DNS_ASKS },
		{ TEXT(HEAD HOST_A "\x00\x41\x00\x01"), DNS_NO_DATA },
		{ TEXT(HEAD HOST_A "\x00\x01\x00\x03"), DNS_UNSUPPORTED },
		{ TEXT("\x12\x34\x28\x00\x00\x01\x00\x00\x00\x00\x00\x00" HOST_A TYPE_A),
		  DNS_UNSUPPORTED },
		{ TEXT("\x12\x34\x03\x00\x00\x01\x00\x00\x00\x00\x00\x00" HOST_A TYPE_A),
		  DNS_MALFORMED },
		{ TEXT("\x12\x34\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"), DNS_MALFORMED },
		{ TEXT("\x12\x34\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00" HOST_A TYPE_A HOST_A
			       TYPE_A),
		  DNS_MALFORMED },
		{ TEXT("\x12\x34\x01\x00\x00\x01\x00\x01\x00\x00\x00\x00" HOST_A TYPE_A),
		  DNS_MALFORMED },
	};
	struct dns_query query;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(read_query(rows[i].bytes, rows[i].size, &query), rows[i].verdict,
			     "row %zu", i);
}

Test(dns, the_longest_name)
{
	uint8_t bytes[1024] = HEAD;
	uint8_t answer[DNS_ANSWER_MAX + 16];
	struct dns_query query;
	size_t at = 12;

	for (int label = 0; label < 4; label++) {
		const uint8_t length = label < 3 ? 63 : 61;

		bytes[at] = length;
		memset(bytes + at + 1, 'a', length);
		at += (size_t)length + 1;
	}
	memcpy(bytes + at, "\0" TYPE_A, 5);
	cr_expect_eq(read_query(bytes, at + 5, &query), DNS_ASKS);
	cr_expect_eq(strlen(query.name), 253U);
	cr_expect_leq(dns_answer(&query, DNS_OK, 1, answer), sizeof(answer));
	bytes[at - 62] = 62;
	bytes[at] = 'a';
	memcpy(bytes + at + 1, "\0" TYPE_A, 5);
	cr_expect_eq(read_query(bytes, at + 6, &query), DNS_MALFORMED);
	cr_expect_eq(read_query(bytes, DNS_QUERY_MAX + 1, &query), DNS_MALFORMED);
}
