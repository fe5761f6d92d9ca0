/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CURSOR_PREFIX "after-"
#define CURSOR_ROOM 32

static void print_cursor(size_t place, char ret[CURSOR_ROOM])
{
	(void)snprintf(ret, CURSOR_ROOM, CURSOR_PREFIX "%zu", place);
}

/* A cursor is valid only at the beginning of a page, so it is compared with each of those few. */
static bool find_page(struct json_value *cursor, size_t count, size_t *ret_first)
{
	char text[CURSOR_ROOM];

	for (size_t place = PAGE_ENTRIES; place < count; place += PAGE_ENTRIES) {
		print_cursor(place, text);
		if (json_equals(cursor, text)) {
			*ret_first = place;
			return true;
		}
	}
	return false;
}

bool page_begin(const struct request *request, size_t count, size_t *ret_first)
{
	struct json_value *cursor = request_param(request, "cursor");

	*ret_first = 0;
	if (!cursor || json_equals(cursor, "") || find_page(cursor, count, ret_first))
		return true;
	request_refuse(request, RPC_INVALID_PARAMS,
		       "Invalid params: unknown cursor; leave it out to begin at the first page",
		       NULL);
	return false;
}

size_t page_end(size_t first, size_t count)
{
	return count - first > PAGE_ENTRIES ? first + PAGE_ENTRIES : count;
}

void page_put_cursor(struct json_writer *writer, size_t end, size_t count)
{
	char text[CURSOR_ROOM];

	if (end == count)
		return;
	print_cursor(end, text);
	json_put_text(writer, "nextCursor", text);
}
