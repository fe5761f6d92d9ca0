/* SPDX-License-Identifier: Apache-2.0
 *
 * The servers in a resolv.conf.
 */
#include "gateway/dial/resolv_conf.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_servers(const char *text, const char *servers)
{
	char read[SERVERS_TEXT_MAX];

	resolv_conf_read(text, strlen(text), read);
	cr_expect_str_eq(read, servers, "%s", text);
}

Test(resolv_conf, servers)
{
	expect_servers("nameserver 192.0.2.1\n", "192.0.2.1");
	expect_servers("nameserver 192.0.2.1", "192.0.2.1");
	expect_servers("# x\nsearch example.org\nnameserver\t192.0.2.1  \r\noptions edns0\n"
		       "nameserver 2001:db8::1\n",
		       "192.0.2.1,[2001:db8::1]");
	expect_servers("nameserver 1.0.0.1\nnameserver 1.0.0.2\nnameserver 1.0.0.3\n"
		       "nameserver 1.0.0.4\n",
		       "1.0.0.1,1.0.0.2,1.0.0.3");
}

Test(resolv_conf, lines_that_are_none)
{
	expect_servers("", "127.0.0.1");
	expect_servers("\n\n", "127.0.0.1");
	expect_servers("nameserver\n", "127.0.0.1");
	expect_servers("nameserver 192.0.2\n", "127.0.0.1");
	expect_servers("nameserver example.org\n", "127.0.0.1");
	expect_servers("nameserver fe80::1%eth0\n", "127.0.0.1");
	expect_servers("nameserver192.0.2.1\n", "127.0.0.1");
	expect_servers(" nameserver 192.0.2.1\n", "127.0.0.1");
	expect_servers("nameserver 192.0.2.1,192.0.2.2\nnameserver 192.0.2.3\n", "192.0.2.3");
}

Test(resolv_conf, long_lines_and_bytes_of_any_kind)
{
	const char bytes[] = "nameserver \0 192.0.2.1\nnameserver 192.0.2.2\0x\n";
	char line[1024], read[SERVERS_TEXT_MAX];

	memset(line, ' ', sizeof(line));
	memcpy(line, "nameserver", 10);
	memcpy(line + sizeof(line) - 20, "192.0.2.1\n", 10);
	resolv_conf_read(line, sizeof(line), read);
	cr_expect_str_eq(read, "127.0.0.1");
	resolv_conf_read(bytes, sizeof(bytes) - 1, read);
	cr_expect_str_eq(read, "192.0.2.2");
}
