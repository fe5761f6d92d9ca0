/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <inttypes.h>
#include <string.h>

#include "text.h"
#include "utf8.h"

void output_add(struct output *output, const char *bytes, size_t size)
{
	if (output->total < OUTPUT_END_BYTES) {
		const size_t room = OUTPUT_END_BYTES - (size_t)output->total;
		const size_t head = size < room ? size : room;

		memcpy(output->first + output->total, bytes, head);
		output->total += head;
		bytes += head;
		size -= head;
	}
	if (size > OUTPUT_END_BYTES) { /* only its end can stay */
		output->total += size - OUTPUT_END_BYTES;
		bytes += size - OUTPUT_END_BYTES;
		size = OUTPUT_END_BYTES;
	}
	while (size > 0) {
		const size_t at = (size_t)(output->total % OUTPUT_END_BYTES);
		const size_t room = OUTPUT_END_BYTES - at;
		const size_t part = size < room ? size : room;

		memcpy(output->last + at, bytes, part);
		output->total += part;
		bytes += part;
		size -= part;
	}
}

/* The kept bytes in order. */
struct kept {
	char bytes[2 * OUTPUT_END_BYTES];
	size_t size;
	size_t gap; /* where bytes are missing; == size: nowhere */
};

/* A character that the gap cut through is missing altogether, not shown as broken bytes. */
static void trim_gap(struct kept *kept)
{
	size_t begin = kept->gap;
	size_t end = kept->gap;

	for (size_t back = 1; back <= 3 && back <= kept->gap; back++) {
		const unsigned char byte = (unsigned char)kept->bytes[kept->gap - back];

		if (byte < 0x80)
			break;
		if (byte >= 0xc0) {
			if (utf8_length(kept->bytes + kept->gap - back, back) == 0)
				begin = kept->gap - back;
			break;
		}
	}
	while (end < kept->size && end - kept->gap < 3 &&
	       ((unsigned char)kept->bytes[end] & 0xc0) == 0x80)
		end++;
	memmove(kept->bytes + begin, kept->bytes + end, kept->size - end);
	kept->size -= end - begin;
	kept->gap = begin;
}

static void collect(const struct output *output, struct kept *ret)
{
	const uint64_t total = output->total;
	const size_t head = total < OUTPUT_END_BYTES ? (size_t)total : OUTPUT_END_BYTES;
	const size_t tail =
		total - head < OUTPUT_END_BYTES ? (size_t)(total - head) : OUTPUT_END_BYTES;
	/* The ring begins at place 0 until it is full. */
	const size_t start = tail < OUTPUT_END_BYTES ? 0 : (size_t)(total % OUTPUT_END_BYTES);

	memcpy(ret->bytes, output->first, head);
	memcpy(ret->bytes + head, output->last + start, tail - start);
	memcpy(ret->bytes + head + tail - start, output->last, start);
	ret->size = head + tail;
	ret->gap = ret->size;
	if (head + tail < total) {
		ret->gap = head;
		trim_gap(ret);
	}
}

size_t output_text_size(const struct output *output)
{
	struct buffer text = { 0 };
	size_t size;

	(void)output_show(output, SIZE_MAX, &text);
	size = text.size;
	buffer_done(&text);
	return size;
}

static void show_parts(const struct kept *kept, uint64_t total, size_t first, size_t last,
		       struct buffer *text)
{
	text_append(text, kept->bytes, first);
	if (text->size > 0 && text->bytes[text->size - 1] != '\n')
		buffer_append_text(text, "\n");
	buffer_format(text, "[... %" PRIu64 " bytes omitted ...]\n",
		      total - (uint64_t)first - (uint64_t)last);
	text_append(text, kept->bytes + kept->size - last, last);
}

bool output_show(const struct output *output, size_t room, struct buffer *ret_text)
{
	static struct kept kept; /* large; one thread */
	size_t first, last;

	collect(output, &kept);
	if (kept.gap == kept.size && output->total == kept.size &&
	    text_fit_first(kept.bytes, kept.size, room) == kept.size) {
		text_append(ret_text, kept.bytes, kept.size);
		return false;
	}
	if (kept.gap < kept.size) {
		first = text_fit_first(kept.bytes, kept.gap, room / 2);
		last = text_fit_last(kept.bytes + kept.gap, kept.size - kept.gap, room / 2);
	} else {
		first = text_fit_first(kept.bytes, kept.size, room / 2);
		last = text_fit_last(kept.bytes + first, kept.size - first, room / 2);
	}
	show_parts(&kept, output->total, first, last, ret_text);
	return true;
}
