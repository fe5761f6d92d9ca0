/* SPDX-License-Identifier: Apache-2.0 */
#include "io/lines.h"

#include <stdlib.h>
#include <string.h>

#include "lib/heap/memory.h"

#define READ_BYTES ((size_t)64 << 10)
/* The longest line, its \r\n, and one read behind it. */
#define ROOM_MAX (LINE_BYTES_MAX + 2 + READ_BYTES)
/* An empty buffer larger than this is freed. */
#define ROOM_KEPT (4 * READ_BYTES)

static const char byte_order_mark[] = { '\xef', '\xbb', '\xbf' };

static void move_to_front(struct lines *lines)
{
	if (lines->start == 0)
		return;
	memmove(lines->bytes, lines->bytes + lines->start, lines->end - lines->start);
	lines->end -= lines->start;
	lines->scanned -= lines->start;
	lines->start = 0;
}

static void resize_room(struct lines *lines, size_t room)
{
	lines->bytes = memory_resize(lines->bytes, room);
	lines->room = room;
}

char *lines_space(struct lines *lines, size_t *ret_room)
{
	move_to_front(lines);
	if (lines->end == 0 && lines->room > ROOM_KEPT)
		resize_room(lines, ROOM_KEPT);
	if (lines->room - lines->end < READ_BYTES) {
		size_t room = lines->room ? 2 * lines->room : ROOM_KEPT;

		if (room > ROOM_MAX)
			room = ROOM_MAX;
		if (room > lines->room)
			resize_room(lines, room);
	}
	if (lines->end == lines->room)
		bug("a line fills the buffer");
	*ret_room = lines->room - lines->end;
	return lines->bytes + lines->end;
}

void lines_added(struct lines *lines, size_t size)
{
	if (size > lines->room - lines->end)
		bug("more read than there was room for");
	lines->end += size;
}

/* Strip what is not part of the line of `size` bytes, which has no newline. */
static void strip_line(char **line, size_t *size)
{
	if (*size > 0 && (*line)[*size - 1] == '\r')
		(*size)--;
	if (*size >= sizeof(byte_order_mark) &&
	    memcmp(*line, byte_order_mark, sizeof(byte_order_mark)) == 0) {
		*line += sizeof(byte_order_mark);
		*size -= sizeof(byte_order_mark);
	}
}

/* Forget the bytes of an unfinished line that is too long already or being thrown away. */
static void discard_rest(struct lines *lines)
{
	lines->is_discarding = true;
	lines->start = lines->scanned = lines->end = 0;
}

enum lines_event lines_next(struct lines *lines, char **ret_line, size_t *ret_size)
{
	const bool was_discarding = lines->is_discarding;
	char *newline, *line;
	size_t size;

	if (lines->scanned == lines->end)
		return LINES_NONE;
	newline = memchr(lines->bytes + lines->scanned, '\n', lines->end - lines->scanned);
	if (!newline) {
		lines->scanned = lines->end;
		/* one more than the longest: its last byte may be a \r */
		if (was_discarding || lines->end - lines->start > LINE_BYTES_MAX + 1)
			discard_rest(lines);
		return LINES_NONE;
	}
	line = lines->bytes + lines->start;
	size = (size_t)(newline - line);
	lines->start = lines->scanned = lines->start + size + 1;
	lines->is_discarding = false;
	strip_line(&line, &size);
	if (was_discarding || size > LINE_BYTES_MAX)
		return LINES_TOO_LONG;
	*ret_line = line;
	*ret_size = size;
	return LINES_LINE;
}

void lines_done(struct lines *lines)
{
	free(lines->bytes);
	memset(lines, 0, sizeof(*lines));
}
