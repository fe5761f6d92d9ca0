/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts in a fixed buffer: what fits is there and terminated, what does not ends the process.
 */
#include "common/text.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

Test(text, parts_follow_each_other)
{
	struct text text = { .used = 0 };

	text_add(&text, "size=");
	text_add_number(&text, 4096);
	text_add(&text, "");
	text_add(&text, "k");
	cr_assert_str_eq(text.bytes, "size=4096k");
	cr_assert_eq(text.used, 10);
}

Test(text, numbers_are_decimal)
{
	const uint64_t numbers[] = { 0,
				     1,
				     9,
				     10,
				     99,
				     100,
				     UINT32_MAX,
				     INT64_MAX,
				     1000000000000,
				     UINT64_MAX,
				     UINT64_MAX - 1 };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct text text = { .used = 0 };
		char expected[32];

		(void)snprintf(expected, sizeof(expected), "%" PRIu64, numbers[i]);
		text_add_number(&text, numbers[i]);
		cr_assert_str_eq(text.bytes, expected);
	}
}

Test(text, the_buffer_can_be_filled)
{
	struct text text = { .used = 0 };
	char most[sizeof(text.bytes)];

	memset(most, 'x', sizeof(most));
	most[sizeof(most) - 1] = '\0';
	text_add(&text, most);
	cr_assert_str_eq(text.bytes, most);
	text_add(&text, "");
}

Test(text, one_byte_too_many_ends_the_process, .signal = SIGABRT)
{
	struct text text = { .used = 0 };
	char most[sizeof(text.bytes)];

	memset(most, 'x', sizeof(most));
	most[sizeof(most) - 1] = '\0';
	text_add(&text, most);
	text_add_number(&text, 1);
}
