/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/heap/buffer.h"

#include <criterion/criterion.h>
#include <string.h>

Test(buffer, empty_has_no_bytes)
{
	struct buffer buffer = { 0 };

	cr_expect_null(buffer.bytes);
	buffer_end_line(&buffer);
	buffer_drop(&buffer, 0);
	cr_expect_null(buffer.bytes);
	buffer_done(&buffer);
}

Test(buffer, nothing_appended_is_a_text)
{
	struct buffer buffer = { 0 };

	buffer_append(&buffer, NULL, 0);
	cr_assert_not_null(buffer.bytes);
	cr_expect_str_eq(buffer.bytes, "");
	buffer_done(&buffer);
}

Test(buffer, grows_and_ends_with_nul)
{
	struct buffer buffer = { 0 };

	for (size_t i = 0; i < 10000; i++) {
		buffer_append(&buffer, "0123456789" + i % 10, 1);
		cr_assert_lt(buffer.size, buffer.room);
		cr_assert_eq(buffer.bytes[buffer.size], '\0');
	}
	cr_expect_eq(buffer.size, 10000);
	for (size_t i = 0; i < 10000; i++)
		cr_assert_eq(buffer.bytes[i], '0' + (char)(i % 10));
	buffer_done(&buffer);
	cr_expect_eq(buffer.size, 0);
	cr_expect_eq(buffer.room, 0);
}

Test(buffer, formats_of_every_length)
{
	struct buffer buffer = { 0 };

	for (int width = 1; width < 2000; width++) {
		const size_t before = buffer.size;

		buffer_format(&buffer, "%*d", width, 7);
		cr_assert_eq(buffer.size - before, (size_t)width);
		cr_assert_eq(buffer.bytes[buffer.size - 1], '7');
		cr_assert_eq(buffer.bytes[buffer.size], '\0');
	}
	buffer_done(&buffer);
}

Test(buffer, lines_end_once)
{
	struct buffer buffer = { 0 };

	buffer_append_text(&buffer, "a");
	buffer_end_line(&buffer);
	buffer_end_line(&buffer);
	cr_expect_str_eq(buffer.bytes, "a\n");
	buffer_done(&buffer);
}

Test(buffer, drops_from_the_start)
{
	struct buffer buffer = { 0 };

	buffer_append_text(&buffer, "abcdef");
	buffer_drop(&buffer, 2);
	cr_expect_str_eq(buffer.bytes, "cdef");
	buffer_drop(&buffer, 4);
	cr_expect_str_eq(buffer.bytes, "");
	buffer_done(&buffer);
}
