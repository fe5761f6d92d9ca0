/* SPDX-License-Identifier: Apache-2.0
 *
 * The one spelling of a name, and every text that is none.
 */
#include "gateway/hosts/name.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define A63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A61 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* A text may have a NUL inside, so it has its size. */
#define TEXT(literal) literal, sizeof(literal) - 1

static enum host_fault read_name(const char *text, size_t size, char ret[HOST_NAME_MAX_SIZE])
{
	memset(ret, 'x', HOST_NAME_MAX_SIZE);
	return host_name_read(text, size, ret);
}

Test(name, one_spelling)
{
	static const struct {
		const char *text;
		const char *name;
	} rows[] = {
		{ "example.org", "example.org" },
		{ "EXAMPLE.Org", "example.org" },
		{ "example.org.", "example.org" },
		{ "localhost", "localhost" },
		{ "a", "a" },
		{ "xn--bcher-kva.EXAMPLE", "xn--bcher-kva.example" },
		{ "r3---sn-4g5e6nls.example", "r3---sn-4g5e6nls.example" },
		{ "my_bucket.s3.example", "my_bucket.s3.example" },
		{ "_dmarc.example.org", "_dmarc.example.org" },
		{ "1e100.example", "1e100.example" },
		{ "127.0.0.1.example", "127.0.0.1.example" },
		{ "a.0xg", "a.0xg" },
		{ "1.2.3.4a", "1.2.3.4a" },
		{ A63 "." A63 "." A63 "." A61, A63 "." A63 "." A63 "." A61 },
		{ A63 "." A63 "." A63 "." A61 ".", A63 "." A63 "." A63 "." A61 },
	};
	char name[HOST_NAME_MAX_SIZE], again[HOST_NAME_MAX_SIZE];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(read_name(rows[i].text, strlen(rows[i].text), name), HOST_SOUND, "%s",
			     rows[i].text);
		cr_expect_str_eq(name, rows[i].name);
		cr_expect_eq(read_name(name, strlen(name), again), HOST_SOUND);
		cr_expect_str_eq(again, name);
	}
}

Test(name, wrong_forms)
{
	static const struct {
		const char *text;
		size_t size;
		enum host_fault fault;
	} rows[] = {
		{ TEXT(""), HOST_EMPTY },
		{ TEXT("."), HOST_LABEL_EMPTY },
		{ TEXT(".."), HOST_LABEL_EMPTY },
		{ TEXT(".example.org"), HOST_LABEL_EMPTY },
		{ TEXT("example..org"), HOST_LABEL_EMPTY },
		{ TEXT("example.org.."), HOST_LABEL_EMPTY },
		{ TEXT(A63 "a.org"), HOST_LABEL_LONG },
		{ TEXT("org." A63 "a"), HOST_LABEL_LONG },
		{ TEXT(A63 "." A63 "." A63 "." A61 "a"), HOST_LONG },
		{ TEXT(A63 "." A63 "." A63 "." A61 "a."), HOST_LONG },
		{ TEXT("-a.org"), HOST_LABEL_HYPHEN },
		{ TEXT("a-.org"), HOST_LABEL_HYPHEN },
		{ TEXT("a.-"), HOST_LABEL_HYPHEN },
		{ TEXT("b\xc3\xbc"
		       "cher.example"),
		  HOST_FOREIGN },
		{ TEXT("ex\xe3\x80\x82org"),
		  HOST_FOREIGN }, /* a full stop that IDNA maps to a dot */
		{ TEXT("a\xff"), HOST_FOREIGN },
		{ TEXT("example.org\0.evil.example"), HOST_CHARACTER },
		{ TEXT("\0"), HOST_CHARACTER },
		{ TEXT("exa mple.org"), HOST_CHARACTER },
		{ TEXT("example.org\n"), HOST_CHARACTER },
		{ TEXT("example.org:443"), HOST_CHARACTER },
		{ TEXT("example.org/"), HOST_CHARACTER },
		{ TEXT("user@example.org"), HOST_CHARACTER },
		{ TEXT("*.example.org"), HOST_CHARACTER },
		{ TEXT("ex%61mple.org"), HOST_CHARACTER },
		{ TEXT("[::1]"), HOST_CHARACTER },
		{ TEXT("::1"), HOST_CHARACTER },
		{ TEXT("127.0.0.1"), HOST_ENDS_IN_NUMBER },
		{ TEXT("127.0.0.1."), HOST_ENDS_IN_NUMBER },
		{ TEXT("127.1"), HOST_ENDS_IN_NUMBER },
		{ TEXT("0177.0.0.1"), HOST_ENDS_IN_NUMBER },
		{ TEXT("0x7f.0.0.0X1"), HOST_ENDS_IN_NUMBER },
		{ TEXT("2130706433"), HOST_ENDS_IN_NUMBER },
		{ TEXT("0x"), HOST_ENDS_IN_NUMBER },
		{ TEXT("example.08"), HOST_ENDS_IN_NUMBER },
	};
	char name[HOST_NAME_MAX_SIZE];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(read_name(rows[i].text, rows[i].size, name), rows[i].fault, "%zu %s",
			     i, rows[i].text);
		cr_expect_eq(name[0], 'x', "%zu: a refused text is not read", i);
	}
}

Test(name, each_byte_alone)
{
	static const char sound[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	char name[HOST_NAME_MAX_SIZE];

	for (int byte = 0; byte < 256; byte++) {
		const char text[] = { 'a', (char)byte, 'b' };
		const bool is_sound = byte != 0 && (strchr(sound, byte) || strchr("-.", byte));

		cr_expect_eq(read_name(text, sizeof(text), name) == HOST_SOUND, is_sound, "%d",
			     byte);
	}
}

Test(name, names_that_no_list_has)
{
	static const char *const none[] = { "localhost", "a.localhost", "*.localhost", "invalid",
					    "msp-probe.invalid" };
	static const char *const others[] = { "example.org",     "localhost.example", "alocalhost",
					      "invalid.example", "an-invalid",        "d" };

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		cr_expect_not_null(host_name_never(none[i]), "%s", none[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_expect_null(host_name_never(others[i]), "%s", others[i]);
}

Test(name, each_fault_has_its_own_rule)
{
	for (int i = 1; i < HOST_FAULT_COUNT; i++) {
		cr_expect_gt(strlen(host_fault_rule((enum host_fault)i)), 10U);
		for (int j = 1; j < i; j++)
			cr_expect_str_neq(host_fault_rule((enum host_fault)i),
					  host_fault_rule((enum host_fault)j));
	}
}
