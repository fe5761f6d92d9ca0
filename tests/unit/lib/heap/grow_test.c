/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/heap/grow.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>

Test(grow, items_stay_and_are_moved_seldom)
{
	uint32_t *list = NULL;
	size_t room = 0;
	int moves = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		const size_t before = room;
		uint32_t *grown = grow_list(list, &room, i + 1, sizeof(*list));

		cr_assert_not_null(grown);
		cr_assert_gt(room, i);
		moves += room != before;
		list = grown;
		list[i] = i;
	}
	cr_expect_lt(moves, 20);
	for (uint32_t i = 0; i < 100000; i++)
		cr_assert_eq(list[i], i);
	free(list);
}

Test(grow, many_at_once)
{
	size_t room = 0;
	char *bytes = grow_list(NULL, &room, 100001, 1);

	cr_assert_not_null(bytes);
	cr_expect_geq(room, 100001U);
	bytes[100000] = 'x';
	free(bytes);
}

Test(grow, without_memory_nothing_changes)
{
	size_t room = 0;
	char *bytes = grow_list(NULL, &room, 1, 1);
	const size_t before = room;

	cr_assert_not_null(bytes);
	cr_expect_null(grow_list(bytes, &room, SIZE_MAX, 1));
	cr_expect_null(grow_list(bytes, &room, SIZE_MAX / 4, 16));
	cr_expect_eq(room, before);
	bytes[0] = 'x';
	free(bytes);
}

Test(grow, texts_are_copies_that_go_with_their_list)
{
	struct named {
		char *name;
		int number;
	} *list = NULL;
	size_t room = 0, count = 0;
	char text[] = "b0";

	for (int i = 0; i < 100; i++) {
		struct named *named;

		text[1] = (char)('0' + i % 10);
		named = grow_text(&list, &room, &count, sizeof(*named), text);
		cr_assert_not_null(named);
		cr_expect_eq(named->number, 0);
		named->number = i;
	}
	cr_assert_eq(count, 100);
	for (int i = 0; i < 100; i++) {
		cr_expect_eq(list[i].name[1], '0' + i % 10);
		cr_expect_eq(list[i].number, i);
	}
	list_free(list, count, sizeof(*list)); /* the sanitizers see what it leaves */
	list_free(NULL, 0, sizeof(*list));
}

Test(grow, bytes_follow_each_other)
{
	char *bytes = NULL;
	size_t room = 0, used = 0;

	for (int i = 0; i < 1000; i++)
		cr_assert(grow_bytes(&bytes, &room, &used, "name", sizeof("name")));
	cr_assert(grow_bytes(&bytes, &room, &used, NULL, 0));
	cr_assert_eq(used, 1000 * sizeof("name"));
	for (size_t at = 0; at < used; at += sizeof("name"))
		cr_assert_str_eq(bytes + at, "name");
	cr_expect_not(grow_bytes(&bytes, &room, &used, "x", SIZE_MAX / 2 + 1));
	cr_expect_eq(used, 1000 * sizeof("name"));
	free(bytes);
}
