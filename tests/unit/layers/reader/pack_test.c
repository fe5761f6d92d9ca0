/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layers/reader/pack.h"

static uint8_t *made;
static size_t made_size;

static int apply(const char *base, const char *delta, size_t size)
{
	made = NULL;
	made_size = 0;
	return pack_apply_delta((const uint8_t *)base, strlen(base), (const uint8_t *)delta, size,
				&made, &made_size);
}

#define APPLY(base, delta) apply(base, delta, sizeof(delta) - 1)

Test(pack, a_delta_copies_and_inserts)
{
	/* Sizes 10 and 8; copy 5 bytes from offset 2; insert "xyz". */
	cr_assert_eq(APPLY("0123456789", "\x0a\x08\x91\x02\x05\x03xyz"), 0);
	cr_assert_eq(made_size, 8);
	cr_assert_str_eq((char *)made, "23456xyz");
	free(made);
}

Test(pack, a_delta_of_nothing_makes_nothing)
{
	cr_assert_eq(APPLY("0123456789", "\x0a\x00"), 0);
	cr_assert_eq(made_size, 0);
	free(made);
}

Test(pack, a_delta_that_is_wrong_is_refused)
{
	static const struct {
		const char *name, *delta;
		size_t size;
	} rows[] = {
#define ROW(name, delta) { name, delta, sizeof(delta) - 1 }
		ROW("no sizes", ""),
		ROW("a size that does not end", "\x8a\x80\x80"),
		ROW("another base", "\x09\x01\x01x"),
		ROW("a copy beyond the base", "\x0a\x05\x91\x08\x05"),
		ROW("a copy from beyond the base", "\x0a\x05\x91\x0b\x05"),
		ROW("a copy beyond the result", "\x0a\x04\x90\x05"),
		ROW("an insert beyond the result", "\x0a\x02\x03xyz"),
		ROW("an insert that is cut off", "\x0a\x03\x03xy"),
		ROW("a copy that is cut off", "\x0a\x05\x91\x02"),
		ROW("less than it says", "\x0a\x05\x01x"),
		ROW("more than it says", "\x0a\x01\x01x\x01y"),
		ROW("the reserved code", "\x0a\x01\x00x"),
#undef ROW
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(apply("0123456789", rows[i].delta, rows[i].size), -EBADMSG, "%s",
			     rows[i].name);
}

Test(pack, a_delta_of_too_large_a_result_is_refused_before_there_is_memory_for_it)
{
	cr_assert_eq(APPLY("0123456789", "\x0a\xff\xff\xff\xff\x0f"), -EFBIG);
}
