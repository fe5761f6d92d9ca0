/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/egress/names.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct names names;

Test(names, each_has_its_own_address)
{
	char text[64];

	for (uint32_t i = 0; i < NAMES_MAX; i++) {
		uint32_t address;

		(void)snprintf(text, sizeof(text), "n%u.example", i);
		address = names_address(&names, text);
		cr_assert_neq(address, 0);
		cr_assert_neq(address & 0xff, 0);
		cr_assert_neq(address & 0xff, 255);
		cr_assert_str_eq(names_find(&names, address), text);
		cr_assert_eq(names_address(&names, text), address);
	}
	cr_expect_eq(names.count, NAMES_MAX);
	cr_expect_eq(names_address(&names, "one.more"), 0);
	cr_expect_eq(names_address(&names, "n0.example"), 0xc01fc401);
}

Test(names, addresses_of_no_name)
{
	static const uint32_t none[] = {
		0,          0xc01fc400, 0xc01fc402, 0xc01fc4ff, 0xc01fc501,
		0xc034c101, 0xc0af3001, 0x08080808, 0x7f000001, 0xffffffff
	};

	cr_expect_eq(names_address(&names, "a.example"), 0xc01fc401);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		cr_expect_null(names_find(&names, none[i]), "%x", none[i]);
}
