/* SPDX-License-Identifier: Apache-2.0
 *
 * Events as they are sent, and what is kept of them.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "http/replay.h"

static struct replay replay;

static void keep(uint64_t stream, uint64_t number, size_t size)
{
	const struct replay_id id = { stream, number };
	struct buffer message = { 0 };
	char *bytes = malloc(size);

	cr_assert_not_null(bytes);
	memset(bytes, 'x', size);
	buffer_append(&message, bytes, size);
	replay_keep(&replay, &id, &message);
	buffer_done(&message);
	free(bytes);
}

static void clear(void)
{
	replay_done(&replay);
	cr_assert(!replay.first && !replay.last && replay.bytes == 0 && replay.count == 0);
}

TestSuite(http_replay, .fini = clear);

Test(http_replay, only_what_follows_in_that_stream)
{
	struct replay_id id = { 1, 0 };
	const struct replay_event *event;

	keep(1, 1, 10);
	keep(2, 1, 10);
	keep(1, 2, 10);
	event = replay_after(&replay, &id);
	cr_assert(event && event->id.stream == 1 && event->id.number == 1);
	id.number = 1;
	event = replay_after(&replay, &id);
	cr_assert(event && event->id.stream == 1 && event->id.number == 2);
	id.number = 2;
	cr_assert_null(replay_after(&replay, &id));
	id = (struct replay_id){ 3, 0 };
	cr_assert_null(replay_after(&replay, &id));
}

Test(http_replay, old_events_make_room)
{
	const struct replay_id start = { 1, 0 };

	for (uint64_t i = 1; i <= 100; i++) {
		keep(1, i, REPLAY_BYTES_MAX / 10);
		cr_assert_leq(replay.bytes, REPLAY_BYTES_MAX);
	}
	cr_assert_eq(replay.count, 10);
	cr_assert_eq(replay_after(&replay, &start)->id.number, 91);
	for (uint64_t i = 101; i <= 3000; i++)
		keep(1, i, 1);
	cr_assert_eq(replay.count, REPLAY_EVENTS_MAX);
	cr_assert_eq(replay.last->id.number, 3000);
}

Test(http_replay, one_that_is_too_long_takes_no_others_place)
{
	keep(1, 1, 10);
	keep(1, 2, REPLAY_BYTES_MAX + 1);
	cr_assert_eq(replay.count, 1);
	keep(1, 3, REPLAY_BYTES_MAX);
	cr_assert_eq(replay.count, 1);
	cr_assert_eq(replay.first->id.number, 3);
}

Test(http_replay, ids)
{
	static const char *const wrong[] = {
		"",     "-",    "1",    "1-",   "-1",  "1-2-3", "1-2 ",
		" 1-2", "01-2", "1-02", "+1-2", "a-1", "1-b",   "1234567890123456789-1"
	};
	struct replay_id id;

	cr_assert(replay_read_id("0-0", &id) && id.stream == 0 && id.number == 0);
	cr_assert(replay_read_id("12-345", &id) && id.stream == 12 && id.number == 345);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_assert_not(replay_read_id(wrong[i], &id), "%s", wrong[i]);
}

Test(http_replay, frames)
{
	static const char expected[] = "id: 3-4\ndata: {}\n\ndata: {}\n\nid: 3-4\ndata:\n\n";
	const struct replay_id id = { 3, 4 };
	struct buffer out = { 0 };

	event_append(&out, &id, "{}", 2);
	event_append(&out, NULL, "{}", 2);
	event_append(&out, &id, NULL, 0);
	cr_assert_eq(out.size, sizeof(expected) - 1);
	cr_assert_eq(memcmp(out.bytes, expected, out.size), 0);
	buffer_done(&out);
}
