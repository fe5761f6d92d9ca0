/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layers/merger/text.h"
#include "layers/reader/library.h"

static void check(const char *base, const char *host, const char *sandbox, const char *wanted,
		  bool has_markers)
{
	const struct text texts[] = { { (const uint8_t *)base, strlen(base) },
				      { (const uint8_t *)host, strlen(host) },
				      { (const uint8_t *)sandbox, strlen(sandbox) } };
	struct text_merged merged = { 0 };

	cr_assert_eq(library_load(), 0);
	cr_assert_eq(text_merge(&texts[0], &texts[1], &texts[2], &merged), 0);
	cr_expect_eq(merged.size, strlen(wanted));
	cr_expect_arr_eq(merged.bytes, wanted, merged.size, "%.*s", (int)merged.size,
			 (const char *)merged.bytes);
	cr_expect_eq(merged.has_markers, has_markers);
	free(merged.bytes);
}

Test(threeway_text, changes_of_both_sides_are_in_it)
{
	check("a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", "A\nb\nc\nd\nE\n", false);
	check("a\nb\nc\n1\n2\n", "a\nc\n1\n2\n", "a\nb\nc\n1\n2\nd\n", "a\nc\n1\n2\nd\n", false);
}

Test(threeway_text, the_side_that_changed_alone_wins)
{
	check("a\n", "a\n", "b\n", "b\n", false);
	check("a\n", "b\n", "a\n", "b\n", false);
	check("a\n", "b\n", "b\n", "b\n", false);
	check("", "", "b\n", "b\n", false);
}

Test(threeway_text, the_same_lines_are_between_markers)
{
	check("a\nb\n", "x\nb\n", "y\nb\n",
	      "<<<<<<< this machine\nx\n=======\ny\n>>>>>>> sandbox\nb\n", true);
}

Test(threeway_text, a_binary_version_is_not_merged)
{
	static const struct text binary = { (const uint8_t *)"a\0b\n", 4 };
	static const struct text texts[] = { { (const uint8_t *)"a\n", 2 },
					     { (const uint8_t *)"", 0 } };
	struct text_merged merged = { 0 };

	cr_assert_eq(library_load(), 0);
	for (size_t i = 0; i < 2; i++) {
		const struct text *text = &texts[i];

		cr_expect_eq(text_merge(&binary, text, text, &merged), -EBADMSG);
		cr_expect_eq(text_merge(text, &binary, text, &merged), -EBADMSG);
		cr_expect_eq(text_merge(text, text, &binary, &merged), -EBADMSG);
	}
	cr_expect_null(merged.bytes);
}
