/* SPDX-License-Identifier: Apache-2.0 */
#include "io/excerpt.h"

#include <inttypes.h>
#include <stdlib.h>

#include "io/text.h"
#include "lib/heap/memory.h"

#define CHARACTER_BYTES_MAX 4

/* At most two bytes become one of text: \r\n. */
#define RAW_PER_TEXT 2

static size_t smaller_size(uint64_t a, size_t b)
{
	return a < b ? (size_t)a : b;
}

/* Count the bytes at the end that begin an incomplete character or line end. */
static size_t unfinished_bytes(const char *bytes, size_t size)
{
	return size > 0 && bytes[size - 1] == '\r' ? 1 : text_unfinished(bytes, size);
}

uint64_t excerpt_whole(const struct output *output, uint64_t from, uint64_t to)
{
	char end[CHARACTER_BYTES_MAX];
	const size_t size = smaller_size(to - from, sizeof(end));

	if (output_read(output, to - size, end, size) < size)
		return to;
	return to - unfinished_bytes(end, size);
}

/* Copy the bytes from `from` on, at most `most` and none behind a hole; the caller frees them. */
static char *take_bytes(const struct excerpt *excerpt, uint64_t from, size_t most, size_t *ret_size)
{
	const size_t size = smaller_size(excerpt->to - from, most);
	char *bytes = memory_get(size + 1);

	*ret_size = output_read(excerpt->output, from, bytes, size);
	return bytes;
}

size_t excerpt_text_size(const struct excerpt *excerpt, size_t most)
{
	struct buffer text = { 0 };
	size_t size = most;
	size_t taken;
	char *bytes = take_bytes(excerpt, excerpt->from, RAW_PER_TEXT * most + 1, &taken);

	if (excerpt->from + taken == excerpt->to &&
	    text_fit_first(bytes, taken, most, TEXT_CONTENTS) == taken) {
		text_append(&text, bytes, taken, TEXT_CONTENTS);
		size = text.size;
		buffer_done(&text);
	}
	free(bytes);
	return size;
}

/* Append the end of the kept bytes from `from` on, at most `room` bytes of text; return where it
 * begins. */
static uint64_t append_last(const struct excerpt *excerpt, uint64_t from, size_t room,
			    struct buffer *text)
{
	const size_t span = smaller_size(excerpt->to - from, RAW_PER_TEXT * room);
	const uint64_t start = output_kept_from(excerpt->output, excerpt->to - span);
	size_t size, skipped = 0, last;
	char *bytes;

	if (start >= excerpt->to)
		return excerpt->to;
	bytes = take_bytes(excerpt, start, span, &size);
	/* also skip the rest of a character that the gap cut through */
	while (start > from && skipped < size && skipped < CHARACTER_BYTES_MAX - 1 &&
	       ((unsigned char)bytes[skipped] & 0xc0) == 0x80)
		skipped++;
	last = text_fit_last(bytes + skipped, size - skipped, room, TEXT_CONTENTS);
	text_append(text, bytes + size - last, last, TEXT_CONTENTS);
	free(bytes);
	return excerpt->to - last;
}

bool excerpt_append(const struct excerpt *excerpt, size_t room, struct buffer *text,
		    uint64_t *ret_omitted)
{
	struct buffer end = { 0 };
	size_t size, first;
	uint64_t gap, last;
	char *bytes = take_bytes(excerpt, excerpt->from, RAW_PER_TEXT * room + 1, &size);

	first = text_fit_first(bytes, size, room, TEXT_CONTENTS);
	if (excerpt->from + first == excerpt->to) {
		text_append(text, bytes, first, TEXT_CONTENTS);
		free(bytes);
		return false;
	}
	first = text_fit_first(bytes, size, room / 2, TEXT_CONTENTS);
	first -= unfinished_bytes(bytes, first);
	gap = excerpt->from + first;
	last = append_last(excerpt, gap, room / 2, &end);
	text_append(text, bytes, first, TEXT_CONTENTS);
	buffer_end_line(text);
	buffer_format(text, "[... %" PRIu64 " byte%s omitted ...]\n", last - gap,
		      last - gap == 1 ? "" : "s");
	buffer_append(text, end.bytes, end.size);
	buffer_done(&end);
	free(bytes);
	*ret_omitted = gap;
	return true;
}

void excerpt_append_first(const struct excerpt *excerpt, size_t room, struct buffer *text,
			  uint64_t *ret_from, uint64_t *ret_to)
{
	const uint64_t kept = output_kept_from(excerpt->output, excerpt->from);
	const uint64_t from = kept < excerpt->to ? kept : excerpt->to;
	size_t size, first;
	char *bytes = take_bytes(excerpt, from, RAW_PER_TEXT * room, &size);

	first = text_fit_first(bytes, size, room, TEXT_CONTENTS);
	if (from + first < excerpt->to && first > unfinished_bytes(bytes, first))
		first -= unfinished_bytes(bytes, first);
	text_append(text, bytes, first, TEXT_CONTENTS);
	free(bytes);
	*ret_from = from;
	*ret_to = from + first;
}
