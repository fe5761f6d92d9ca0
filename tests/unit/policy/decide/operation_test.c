/* SPDX-License-Identifier: Apache-2.0
 *
 * What people and models may write as an operation, and what they are told otherwise.
 */
#include "policy/decide/operation.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct operation parse(const char *text)
{
	char problem[OPERATION_PROBLEM_MAX] = "";
	struct operation operation;

	cr_assert_eq(operation_parse(text, &operation, problem), 0, "%s: %s", text, problem);
	return operation;
}

static void expect_problem(const char *text, const char *part)
{
	char problem[OPERATION_PROBLEM_MAX] = "";
	struct operation operation;

	cr_expect_eq(operation_parse(text, &operation, problem), -EINVAL, "%s", text);
	cr_expect_not_null(strstr(problem, part), "%s: %s", text, problem);
}

Test(operation, each_kind)
{
	static const char *const words[OPERATION_KIND_COUNT] = {
		"read",    "write",   "create", "delete",  "list", "exec",
		"connect", "resolve", "bind",   "request", "use",  "syscall",
	};
	static const char *const targets[OPERATION_KIND_COUNT] = {
		"/a", "/a", "/a", "/a", "/a", "/a", "a:1", "a", "1", "GET http://a", "A at a", "a",
	};

	for (int i = 0; i < OPERATION_KIND_COUNT; i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "%s %s", words[i], targets[i]);
		cr_expect_eq(parse(text).kind, (enum operation_kind)i);
		cr_expect_str_eq(operation_kind_name((enum operation_kind)i), words[i]);
	}
}

Test(operation, paths_keep_their_spaces_and_bytes)
{
	struct operation operation = parse("  read   /a b/\xc3\xbc/../c ");

	cr_expect_str_eq(operation.target, "/a b/\xc3\xbc/../c ");
	cr_expect_str_eq(operation.text, "read /a b/\xc3\xbc/../c ");
	cr_expect_str_eq(parse("list /").target, "/");
	cr_expect_str_eq(parse("read //a//b").target, "//a//b");
}

Test(operation, requests)
{
	struct operation operation = parse("request GET https://api.example.org:8443/v1/a?b=c#d");

	cr_expect_str_eq(operation.word, "GET");
	cr_expect(operation.is_tls);
	cr_expect_str_eq(operation.target, "api.example.org");
	cr_expect_eq(operation.port, 8443);
	cr_expect_str_eq(operation.path, "/v1/a");
	operation = parse("request PUT http://a.example?x");
	cr_expect_not(operation.is_tls);
	cr_expect_eq(operation.port, 80);
	cr_expect_str_eq(operation.path, "/");
	operation = parse("request GET https://[::1]:1/");
	cr_expect_str_eq(operation.target, "::1");
	expect_problem("request GET", "expected a method and a URL");
	expect_problem("request https://a/", "expected a method and a URL");
	expect_problem("request GET ftp://a/", "expected a method and a URL");
	expect_problem("request GET https://", "expected HOST:PORT");
	expect_problem("request GET https://a b/", "a host is an address or a name");
	expect_problem("request GET https://user@a/", "a host is an address or a name");
	expect_problem("request GET https://a:0/", "a port is");
}

Test(operation, secrets)
{
	struct operation operation = parse("use GITHUB_TOKEN at api.github.com");

	cr_expect_str_eq(operation.word, "GITHUB_TOKEN");
	cr_expect_str_eq(operation.target, "api.github.com");
	cr_expect_eq(operation.port, 443);
	cr_expect_eq(parse("use A at a.example:80").port, 80);
	expect_problem("use A", "expected a secret and its host");
	expect_problem("use A a.example", "expected a secret and its host");
	expect_problem("use A at https://a.example", "a port is");
}

Test(operation, addresses)
{
	struct operation operation = parse("connect 10.0.0.1:65535");

	cr_expect_eq(operation.transport, OPERATION_TCP);
	cr_expect_eq(operation.port, 65535);
	cr_expect_str_eq(operation.target, "10.0.0.1");
	operation = parse("connect [2001:db8::1]:53");
	cr_expect_str_eq(operation.target, "2001:db8::1");
	cr_expect_eq(operation.port, 53);
	operation = parse("connect udp:localhost:53");
	cr_expect_eq(operation.transport, OPERATION_UDP);
	cr_expect_str_eq(operation.target, "localhost");
	cr_expect_str_eq(operation.text, "connect udp:localhost:53");
	operation = parse("connect tcp:unix.example:1");
	cr_expect_eq(operation.transport, OPERATION_TCP);
	cr_expect_str_eq(operation.target, "unix.example");
	operation = parse("connect unix:/run/x");
	cr_expect_eq(operation.transport, OPERATION_UNIX);
	cr_expect_str_eq(operation.target, "/run/x");
	operation = parse("connect unix:@/tmp/.X11-unix/X0");
	cr_expect_eq(operation.transport, OPERATION_ABSTRACT);
	cr_expect_str_eq(operation.target, "/tmp/.X11-unix/X0");
	cr_expect_eq(parse("bind 0").port, 0);
	operation = parse("bind udp:53");
	cr_expect_eq(operation.transport, OPERATION_UDP);
	cr_expect_eq(operation.port, 53);
}

Test(operation, what_is_none)
{
	static const char *const kinds[] = { "",        " ",        "read",
					     "read ",   "rea /x",   "reads /x",
					     "READ /x", "chmod /x", "/etc/passwd" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		expect_problem(kinds[i], "an operation is one of: read PATH");
}

Test(operation, wrong_targets)
{
	expect_problem("read etc/passwd", "begins with /");
	expect_problem("read ~/x", "begins with /");
	expect_problem("list /tmp/", "has no slash");
	expect_problem("list //", "has no slash");
	expect_problem("connect localhost", "expected HOST:PORT");
	expect_problem("connect :80", "expected HOST:PORT");
	expect_problem("connect localhost:", "a port is a number from 1");
	expect_problem("connect localhost:0", "a port is a number from 1");
	expect_problem("connect localhost:65536", "a port is a number from 1");
	expect_problem("connect localhost:-1", "a port is a number from 1");
	expect_problem("connect localhost:http", "a port is a number from 1");
	expect_problem("connect a:000080", "a port is a number from 1");
	expect_problem("connect ::1:80", "stands in brackets");
	expect_problem("connect [::1:80", "expected HOST:PORT");
	expect_problem("connect []:80", "such as [::1]");
	expect_problem("connect [example.org]:80", "such as [::1]");
	expect_problem("connect [127.0.0.1]:80", "only an IPv6 address");
	expect_problem("connect [fe80::1%eth0]:80", "such as [::1]");
	expect_problem("resolve a:80", "a host without a port");
	expect_problem("resolve -a", "a host is an address or a name");
	expect_problem("connect a b:80", "letters, digits, hyphens");
	expect_problem("connect #:80", "letters, digits, hyphens");
	expect_problem("connect b\xc3\xbc"
		       "cher.example:80",
		       "xn--");
	expect_problem("connect a..b:80", "no two in a row");
	expect_problem("connect 127.1:80", "write an address in full: 127.0.0.1");
	expect_problem("connect 0x7f000001:80", "address in full");
	expect_problem("connect 2130706433:80", "address in full");
	expect_problem("connect 010.0.0.1:80", "address in full");
	expect_problem("connect unix:", "1 to 107 bytes");
	expect_problem("connect unix:@", "1 to 107 bytes");
	expect_problem("connect unix:run/x", "begins with /");
	expect_problem("bind http", "from 0 to 65535");
	expect_problem("bind 1 2", "from 0 to 65535");
	expect_problem("bind 127.0.0.1:80", "from 0 to 65535");
	expect_problem("syscall OPENAT", "a name such as openat");
	expect_problem("syscall open at", "a name such as openat");
	expect_problem("syscall 4294967296", "0 to 4294967295");
	expect_problem("syscall 0x10", "0 to 4294967295");
	cr_expect_str_eq(parse("syscall 4294967295").target, "4294967295");
}

Test(operation, control_characters)
{
	expect_problem("read /a\nb", "control characters");
	expect_problem("read /a\x1b[31m", "control characters");
	expect_problem("read /\x7f", "control characters");
	expect_problem("read /\xc2\x9b", "control characters");
	cr_expect_str_eq(parse("read /\xc2\xa0").target, "/\xc2\xa0");
}

Test(operation, lengths)
{
	char text[2048] = "read /";
	char problem[OPERATION_PROBLEM_MAX];
	struct operation operation;

	memset(text + 6, 'a', 255);
	cr_expect_eq(strlen(parse(text).target), 256);
	text[6 + 255] = 'a';
	expect_problem(text, "at most 255 bytes");
	for (size_t i = 6; i < 5 + OPERATION_TARGET_MAX - 1; i++)
		text[i] = i % 100 == 0 ? '/' : 'a';
	cr_expect_eq(operation_parse(text, &operation, problem), 0);
	cr_expect_eq(strlen(operation.target), OPERATION_TARGET_MAX - 1);
	cr_expect_str_eq(operation.text, text);
	text[5 + OPERATION_TARGET_MAX - 1] = 'a';
	expect_problem(text, "at most 1023 bytes");
	(void)snprintf(text, sizeof(text), "connect unix:/%0106d", 0);
	cr_expect_eq(strlen(parse(text).target), 107);
	(void)snprintf(text, sizeof(text), "connect unix:/%0107d", 0);
	expect_problem(text, "1 to 107 bytes");
}
