/* SPDX-License-Identifier: Apache-2.0 */
#include "show/capture.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/utf8.h"
#include "lib/heap/memory.h"

void capture_init(struct capture *capture)
{
	memset(capture, 0, sizeof(*capture));
	capture->head = memory_get(CAPTURE_HEAD_BYTES + CAPTURE_TAIL_BYTES);
	capture->tail = capture->head + CAPTURE_HEAD_BYTES;
}

void capture_add(struct capture *capture, const uint8_t *bytes, size_t size)
{
	size_t at_head = CAPTURE_HEAD_BYTES - capture->head_size;
	uint64_t position;

	if (at_head > size)
		at_head = size;
	memcpy(capture->head + capture->head_size, bytes, at_head);
	capture->head_size += at_head;
	capture->total += size;
	bytes += at_head;
	size -= at_head;
	if (size > CAPTURE_TAIL_BYTES) {
		bytes += size - CAPTURE_TAIL_BYTES;
		size = CAPTURE_TAIL_BYTES;
	}
	position = capture->total - size - capture->head_size; /* in `bytes` behind the head */
	while (size > 0) {
		const size_t at = (size_t)(position % CAPTURE_TAIL_BYTES);
		size_t part = CAPTURE_TAIL_BYTES - at;

		if (part > size)
			part = size;
		memcpy(capture->tail + at, bytes, part);
		bytes += part;
		position += part;
		size -= part;
	}
}

static void reverse_bytes(uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size / 2; i++) {
		const uint8_t kept = bytes[i];

		bytes[i] = bytes[size - 1 - i];
		bytes[size - 1 - i] = kept;
	}
}

/* How many bytes to leave off the end so that no character is cut there. */
static size_t cut_at_end(const uint8_t *bytes, size_t size)
{
	for (size_t back = 1; back <= 3 && back <= size; back++) {
		const uint8_t byte = bytes[size - back];
		const size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;

		if (byte >= 0xc0)
			return length > back ? back : 0;
		if (byte < 0x80)
			return 0;
	}
	return 0;
}

/* Cut a beginning to whole characters. */
static size_t cut_at_start(const uint8_t *bytes, size_t size)
{
	size_t cut = 0;

	while (cut < 3 && cut < size && (bytes[cut] & 0xc0) == 0x80)
		cut++;
	return cut;
}

static bool is_utf8(const uint8_t *bytes, size_t size)
{
	return utf8_is_valid((const char *)bytes, size);
}

/* Turn the full ring so that its oldest byte comes first. */
static void straighten_ring(uint8_t *ring, size_t oldest)
{
	reverse_bytes(ring, oldest);
	reverse_bytes(ring + oldest, CAPTURE_TAIL_BYTES - oldest);
	reverse_bytes(ring, CAPTURE_TAIL_BYTES);
}

struct capture_parts capture_finish(struct capture *capture)
{
	const uint64_t behind = capture->total - capture->head_size;
	struct capture_parts ret = { .parts = { capture->head, capture->tail } };
	size_t at_end;
	size_t at_start;

	if (behind <= CAPTURE_TAIL_BYTES) {
		/* A tail that has not gone round lies right behind the full head. */
		ret.sizes[0] = (size_t)capture->total;
		ret.is_utf8 = is_utf8(capture->head, ret.sizes[0]);
		return ret;
	}
	straighten_ring(capture->tail, (size_t)(behind % CAPTURE_TAIL_BYTES));
	ret.sizes[0] = CAPTURE_HEAD_BYTES;
	ret.sizes[1] = CAPTURE_TAIL_BYTES;
	ret.omitted = behind - CAPTURE_TAIL_BYTES;
	at_end = cut_at_end(capture->head, CAPTURE_HEAD_BYTES);
	at_start = cut_at_start(capture->tail, CAPTURE_TAIL_BYTES);
	ret.is_utf8 = is_utf8(capture->head, CAPTURE_HEAD_BYTES - at_end) &&
		      is_utf8(capture->tail + at_start, CAPTURE_TAIL_BYTES - at_start);
	if (ret.is_utf8) {
		ret.sizes[0] -= at_end;
		ret.parts[1] += at_start;
		ret.sizes[1] -= at_start;
		ret.omitted += at_end + at_start;
	}
	return ret;
}
