/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of addresses at both edges of each network, and the texts that are no address.
 */
#include "gateway/hosts/address.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct kind_case {
	const char *text;
	enum host_address_kind kind;
} cases[] = {
	{ "0.0.0.0", HOST_ADDRESS_UNSPECIFIED },
	{ "0.0.0.1", HOST_ADDRESS_RESERVED },
	{ "0.255.255.255", HOST_ADDRESS_RESERVED },
	{ "1.0.0.0", HOST_ADDRESS_PUBLIC },
	{ "9.255.255.255", HOST_ADDRESS_PUBLIC },
	{ "10.0.0.0", HOST_ADDRESS_PRIVATE },
	{ "10.255.255.255", HOST_ADDRESS_PRIVATE },
	{ "11.0.0.0", HOST_ADDRESS_PUBLIC },
	{ "100.63.255.255", HOST_ADDRESS_PUBLIC },
	{ "100.64.0.0", HOST_ADDRESS_SHARED },
	{ "100.100.100.199", HOST_ADDRESS_SHARED },
	{ "100.100.100.200", HOST_ADDRESS_METADATA },
	{ "100.127.255.255", HOST_ADDRESS_SHARED },
	{ "100.128.0.0", HOST_ADDRESS_PUBLIC },
	{ "126.255.255.255", HOST_ADDRESS_PUBLIC },
	{ "127.0.0.0", HOST_ADDRESS_LOOPBACK },
	{ "127.255.255.255", HOST_ADDRESS_LOOPBACK },
	{ "128.0.0.0", HOST_ADDRESS_PUBLIC },
	{ "168.63.129.15", HOST_ADDRESS_PUBLIC },
	{ "168.63.129.16", HOST_ADDRESS_METADATA },
	{ "169.253.255.255", HOST_ADDRESS_PUBLIC },
	{ "169.254.0.0", HOST_ADDRESS_LINK_LOCAL },
	{ "169.254.169.254", HOST_ADDRESS_METADATA },
	{ "169.254.170.2", HOST_ADDRESS_METADATA },
	{ "169.254.170.23", HOST_ADDRESS_METADATA },
	{ "169.254.255.255", HOST_ADDRESS_LINK_LOCAL },
	{ "169.255.0.0", HOST_ADDRESS_PUBLIC },
	{ "172.15.255.255", HOST_ADDRESS_PUBLIC },
	{ "172.16.0.0", HOST_ADDRESS_PRIVATE },
	{ "172.31.255.255", HOST_ADDRESS_PRIVATE },
	{ "172.32.0.0", HOST_ADDRESS_PUBLIC },
	{ "192.0.0.0", HOST_ADDRESS_RESERVED },
	{ "192.0.0.192", HOST_ADDRESS_METADATA },
	{ "192.0.1.0", HOST_ADDRESS_PUBLIC },
	{ "192.0.2.0", HOST_ADDRESS_DOCUMENTATION },
	{ "192.0.3.0", HOST_ADDRESS_PUBLIC },
	{ "192.31.196.1", HOST_ADDRESS_RESERVED },
	{ "192.52.193.1", HOST_ADDRESS_RESERVED },
	{ "192.88.99.1", HOST_ADDRESS_TUNNEL },
	{ "192.167.255.255", HOST_ADDRESS_PUBLIC },
	{ "192.168.0.0", HOST_ADDRESS_PRIVATE },
	{ "192.168.255.255", HOST_ADDRESS_PRIVATE },
	{ "192.169.0.0", HOST_ADDRESS_PUBLIC },
	{ "192.175.48.1", HOST_ADDRESS_RESERVED },
	{ "198.17.255.255", HOST_ADDRESS_PUBLIC },
	{ "198.18.0.0", HOST_ADDRESS_DOCUMENTATION },
	{ "198.19.255.255", HOST_ADDRESS_DOCUMENTATION },
	{ "198.20.0.0", HOST_ADDRESS_PUBLIC },
	{ "198.51.100.1", HOST_ADDRESS_DOCUMENTATION },
	{ "203.0.113.255", HOST_ADDRESS_DOCUMENTATION },
	{ "223.255.255.255", HOST_ADDRESS_PUBLIC },
	{ "224.0.0.0", HOST_ADDRESS_MULTICAST },
	{ "239.255.255.255", HOST_ADDRESS_MULTICAST },
	{ "240.0.0.0", HOST_ADDRESS_RESERVED },
	{ "255.255.255.254", HOST_ADDRESS_RESERVED },
	{ "255.255.255.255", HOST_ADDRESS_MULTICAST },
};

static const struct kind_case ipv6_cases[] = {
	{ "::", HOST_ADDRESS_UNSPECIFIED },
	{ "::1", HOST_ADDRESS_LOOPBACK },
	{ "::2", HOST_ADDRESS_RESERVED },
	{ "::127.0.0.1", HOST_ADDRESS_RESERVED },
	{ "::ffff:0:127.0.0.1", HOST_ADDRESS_RESERVED },
	{ "64:ff9b::", HOST_ADDRESS_TRANSLATED },
	{ "64:ff9b::127.0.0.1", HOST_ADDRESS_TRANSLATED },
	{ "64:ff9b::ffff:ffff", HOST_ADDRESS_TRANSLATED },
	{ "64:ff9b:0:0:0:1::", HOST_ADDRESS_RESERVED },
	{ "64:ff9b:1::", HOST_ADDRESS_TUNNEL },
	{ "64:ff9b:2::", HOST_ADDRESS_RESERVED },
	{ "100::1", HOST_ADDRESS_RESERVED },
	{ "1fff:ffff::", HOST_ADDRESS_RESERVED },
	{ "2000::", HOST_ADDRESS_PUBLIC },
	{ "2001::1", HOST_ADDRESS_TUNNEL },
	{ "2001:1::1", HOST_ADDRESS_RESERVED },
	{ "2001:2::1", HOST_ADDRESS_DOCUMENTATION },
	{ "2001:20::1", HOST_ADDRESS_RESERVED },
	{ "2001:1ff:ffff::", HOST_ADDRESS_RESERVED },
	{ "2001:200::", HOST_ADDRESS_PUBLIC },
	{ "2001:db7:ffff::", HOST_ADDRESS_PUBLIC },
	{ "2001:db8::", HOST_ADDRESS_DOCUMENTATION },
	{ "2001:db9::", HOST_ADDRESS_PUBLIC },
	{ "2002:7f00:1::", HOST_ADDRESS_TUNNEL },
	{ "2003::", HOST_ADDRESS_PUBLIC },
	{ "2606:4700:4700::1111", HOST_ADDRESS_PUBLIC },
	{ "2620:4f:8000::1", HOST_ADDRESS_RESERVED },
	{ "3ffe:ffff::", HOST_ADDRESS_PUBLIC },
	{ "3fff::", HOST_ADDRESS_DOCUMENTATION },
	{ "3fff:fff:ffff::", HOST_ADDRESS_DOCUMENTATION },
	{ "3fff:1000::", HOST_ADDRESS_PUBLIC },
	{ "4000::", HOST_ADDRESS_RESERVED },
	{ "5f00::1", HOST_ADDRESS_RESERVED },
	{ "fbff:ffff::", HOST_ADDRESS_RESERVED },
	{ "fc00::", HOST_ADDRESS_PRIVATE },
	{ "fd00:ec2::23", HOST_ADDRESS_METADATA },
	{ "fd00:ec2::254", HOST_ADDRESS_METADATA },
	{ "fd00:ec2::253", HOST_ADDRESS_PRIVATE },
	{ "fd20:ce::254", HOST_ADDRESS_METADATA },
	{ "fdff:ffff::", HOST_ADDRESS_PRIVATE },
	{ "fe00::", HOST_ADDRESS_RESERVED },
	{ "fe80::1", HOST_ADDRESS_LINK_LOCAL },
	{ "febf:ffff::", HOST_ADDRESS_LINK_LOCAL },
	{ "fec0::1", HOST_ADDRESS_RESERVED },
	{ "ff00::", HOST_ADDRESS_MULTICAST },
	{ "ff02::1", HOST_ADDRESS_MULTICAST },
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static struct host_address read_address(const char *text)
{
	struct host_address address = { { 0 } };

	cr_assert(host_address_read(text, &address), "%s", text);
	return address;
}

Test(address, kinds_of_ipv4_and_of_its_mapped_form)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct host_address address = read_address(cases[i].text);
		struct host_address mapped;
		char text[64];

		cr_expect(host_address_is_ipv4(&address));
		cr_expect_eq(host_address_kind(&address), cases[i].kind, "%s", cases[i].text);
		(void)snprintf(text, sizeof(text), "::ffff:%s", cases[i].text);
		mapped = read_address(text);
		cr_expect_eq(memcmp(&mapped, &address, sizeof(address)), 0, "%s", text);
	}
}

Test(address, kinds_of_ipv6)
{
	for (size_t i = 0; i < COUNT(ipv6_cases); i++) {
		const struct host_address address = read_address(ipv6_cases[i].text);

		cr_expect_not(host_address_is_ipv4(&address), "%s", ipv6_cases[i].text);
		cr_expect_eq(host_address_kind(&address), ipv6_cases[i].kind, "%s is %s",
			     ipv6_cases[i].text,
			     host_address_kind_words(host_address_kind(&address)));
	}
}

Test(address, each_kind_is_reached_and_has_words)
{
	for (int kind = 0; kind < HOST_ADDRESS_KIND_COUNT; kind++) {
		size_t found = 0;

		for (size_t i = 0; i < COUNT(cases); i++)
			found += (int)cases[i].kind == kind;
		for (size_t i = 0; i < COUNT(ipv6_cases); i++)
			found += (int)ipv6_cases[i].kind == kind;
		cr_expect_gt(found, 0U, "%d", kind);
		cr_expect_not_null(
			strstr(host_address_kind_words((enum host_address_kind)kind), "address"));
	}
}

Test(address, wrong_forms)
{
	static const char *const texts[] = {
		"",
		"127.1",
		"0177.0.0.1",
		"0x7f.0.0.1",
		"2130706433",
		"1.2.3.4.",
		"1.2.3.4.5",
		"1.2.3.256",
		" 1.2.3.4",
		"1.2.3.4 ",
		"[::1]",
		"fe80::1%eth0",
		"::1::",
		":::",
		"1:2:3:4:5:6:7:8:9",
		"::ffff:1.2.3",
		"g::1",
		"::12345",
		"localhost",
		"1.2.3.4/8",
	};
	struct host_address address = { { 7 } };

	for (size_t i = 0; i < COUNT(texts); i++)
		cr_expect_not(host_address_read(texts[i], &address), "%s", texts[i]);
	cr_expect_eq(address.bytes[0], 7);
}

Test(address, reach)
{
	static const struct {
		const char *text;
		enum host_address_reach reach;
	} rows[] = {
		{ "8.8.8.8", HOST_REACH_ALWAYS },
		{ "2606:4700:4700::1111", HOST_REACH_ALWAYS },
		{ "64:ff9b::8.8.8.8", HOST_REACH_ALWAYS },
		{ "10.0.0.1", HOST_REACH_NAMED },
		{ "::ffff:10.0.0.1", HOST_REACH_NAMED },
		{ "64:ff9b::10.0.0.1", HOST_REACH_NAMED },
		{ "fd00::1", HOST_REACH_NAMED },
		{ "100.64.0.1", HOST_REACH_NAMED },
		{ "127.0.0.1", HOST_REACH_NEVER },
		{ "64:ff9b::127.0.0.1", HOST_REACH_NEVER },
		{ "64:ff9b::169.254.169.254", HOST_REACH_NEVER },
		{ "::1", HOST_REACH_NEVER },
		{ "0.0.0.0", HOST_REACH_NEVER },
		{ "169.254.169.254", HOST_REACH_NEVER },
		{ "fd00:ec2::254", HOST_REACH_NEVER },
		{ "2002:7f00:1::", HOST_REACH_NEVER },
		{ "2001::7f00:1", HOST_REACH_NEVER },
		{ "fe80::1", HOST_REACH_NEVER },
		{ "224.0.0.1", HOST_REACH_NEVER },
		{ "::127.0.0.1", HOST_REACH_NEVER },
		{ "::8.8.8.8", HOST_REACH_NEVER },
		{ "2002:808:808::1", HOST_REACH_NEVER },
		{ "2001:0:808:808::f7f7:f7f7", HOST_REACH_NEVER },
		{ "64:ff9b:1::8.8.8.8", HOST_REACH_NEVER },
		{ "2606:4700::5efe:8.8.8.8", HOST_REACH_ALWAYS },
		{ "2606:4700::5efe:10.0.0.1", HOST_REACH_NAMED },
		{ "2606:4700::200:5efe:10.0.0.1", HOST_REACH_NAMED },
		{ "2606:4700::5efe:127.0.0.1", HOST_REACH_NEVER },
		{ "2606:4700::200:5efe:169.254.169.254", HOST_REACH_NEVER },
		{ "2606:4700::100:5efe:127.0.0.1", HOST_REACH_ALWAYS },
		{ "2606:4700::5eff:127.0.0.1", HOST_REACH_ALWAYS },
		{ "fd00::5efe:8.8.8.8", HOST_REACH_NAMED },
		{ "fe80::5efe:8.8.8.8", HOST_REACH_NEVER },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct host_address address = read_address(rows[i].text);

		cr_expect_eq(host_address_reach(&address), rows[i].reach, "%s", rows[i].text);
	}
}

Test(address, networks)
{
	static const struct {
		const char *network, *address;
		bool is_inside;
	} rows[] = {
		{ "10.20.0.0/24", "10.20.0.255", true },
		{ "10.20.0.0/24", "::ffff:10.20.0.1", true },
		{ "10.20.0.0/24", "10.20.1.0", false },
		{ "10.20.0.0/24", "64:ff9b::10.20.0.1", false },
		{ "10.20.0.128/25", "10.20.0.127", false },
		{ "10.20.0.7", "10.20.0.7", true },
		{ "10.20.0.7", "10.20.0.6", false },
		{ "0.0.0.0/0", "255.255.255.255", true },
		{ "0.0.0.0/0", "2606::1", false },
		{ "2001:db8::/32", "2001:db8:ffff::", true },
	};
	static const char *const wrong[] = {
		"10.20.0.1/24",
		"10.20.0.0/33",
		"10.20.0.0/",
		"10.20.0.0/024",
		"10.20.0.0/-1",
		"10.20.0/24",
		"/24",
		"10.20.0.0/2 4",
		"10.20.0.0/24/8",
		"2001:db8::1/32",
		"2001:db8::/129",
		"10.20.0.0/1000",
	};
	struct host_network network = { .bits = 0 };

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct host_address address = read_address(rows[i].address);

		cr_assert(host_network_read(rows[i].network, &network), "%s", rows[i].network);
		cr_expect_eq(host_network_contains(&network, &address), rows[i].is_inside, "%s %s",
			     rows[i].network, rows[i].address);
	}
	for (size_t i = 0; i < COUNT(wrong); i++)
		cr_expect_not(host_network_read(wrong[i], &network), "%s", wrong[i]);
}
