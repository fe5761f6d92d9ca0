/* SPDX-License-Identifier: Apache-2.0 */
#include "held/screen.h"

#include <string.h>

#include "common/clock.h"
#include "common/text/format.h"

/* More empty lines than that push nothing further out of sight. */
#define ROWS_MOST 500

struct taking {
	struct screen *screen;
	bool is_attached;
};

/* --- keeping -----------------------------------------------------------------------------------
 */

static struct screen_ring *present_ring(struct screen *screen)
{
	return &screen->rings[screen->modes.alternate != 0];
}

static void clear_ring(struct screen_ring *ring)
{
	ring->total = 0;
	ring->is_drawn = false;
}

static void add_to_ring(struct screen_ring *ring, const uint8_t *bytes, size_t size)
{
	if (size > SCREEN_BYTES) {
		ring->total += size - SCREEN_BYTES;
		bytes += size - SCREEN_BYTES;
		size = SCREEN_BYTES;
	}
	while (size > 0) {
		const size_t at = ring->total % SCREEN_BYTES;
		const size_t fit = size < SCREEN_BYTES - at ? size : SCREEN_BYTES - at;

		memcpy(ring->bytes + at, bytes, fit);
		ring->total += fit;
		bytes += fit;
		size -= fit;
	}
}

static void add_query(struct screen *screen, const uint8_t *bytes, size_t size)
{
	if (screen->queries_us + SCREEN_QUERY_US < clock_now_us())
		screen->queries_size = 0;
	if (size > sizeof(screen->queries) - screen->queries_size)
		return;
	memcpy(screen->queries + screen->queries_size, bytes, size);
	screen->queries_size += size;
	screen->queries_us = clock_now_us();
}

static void keep_part(void *context, enum modes_part part, const uint8_t *bytes, size_t size)
{
	const struct taking *taking = context;
	struct screen *screen = taking->screen;
	struct screen_ring *ring = present_ring(screen);

	switch (part) {
	case MODES_SHOWN:
		ring->is_drawn |= bytes[0] == '\x1b';
		add_to_ring(ring, bytes, size);
		break;
	case MODES_QUERY:
		if (!taking->is_attached)
			add_query(screen, bytes, size);
		break;
	case MODES_SWITCHED:
		if (screen->modes.alternate)
			clear_ring(ring);
		break;
	case MODES_CLEARED:
		clear_ring(ring);
		add_to_ring(ring, bytes, size);
		ring->is_drawn = true;
		break;
	case MODES_MODE:
	case MODES_DROPPED:
		break;
	}
}

void screen_take(struct screen *screen, const uint8_t *bytes, size_t size, bool is_attached)
{
	struct taking taking = { .screen = screen, .is_attached = is_attached };
	const struct modes_taker taker = { .context = &taking, .take = keep_part };

	modes_read(&screen->modes, bytes, size, &taker);
}

bool screen_is_empty(const struct screen *screen)
{
	return screen->rings[0].total == 0 && !screen->modes.alternate;
}

/* --- replaying ---------------------------------------------------------------------------------
 */

/* Copy a ring. If its beginning is gone, the first line may be a part of one, and of a sequence. */
static size_t copy_ring(const struct screen_ring *ring, uint8_t *ret)
{
	const size_t size = ring->total < SCREEN_BYTES ? (size_t)ring->total : SCREEN_BYTES;
	const size_t first = (size_t)((ring->total - size) % SCREEN_BYTES);
	const size_t fit = size < SCREEN_BYTES - first ? size : SCREEN_BYTES - first;
	const uint8_t *line = NULL;
	size_t left = size;

	memcpy(ret, ring->bytes + first, fit);
	memcpy(ret + fit, ring->bytes, size - fit);
	if (ring->total > SCREEN_BYTES)
		line = memchr(ret, '\n', size);
	if (line) {
		left = size - (size_t)(line + 1 - ret);
		memmove(ret, line + 1, left);
	}
	return left;
}

static size_t add_text(uint8_t *ret, const char *text)
{
	size_t size = 0;

	for (; text[size]; size++)
		ret[size] = (uint8_t)text[size];
	return size;
}

/* Push what the person's screen shows out of sight, and begin at its top. */
static size_t add_empty_screen(uint8_t *ret, uint32_t rows)
{
	const size_t lines = rows < ROWS_MOST ? rows : ROWS_MOST;

	memset(ret, '\n', lines);
	return lines + add_text(ret + lines, "\r\x1b[H\x1b[J");
}

size_t screen_replay(struct screen *screen, uint32_t rows, uint8_t ret[SCREEN_REPLAY_MAX])
{
	const struct modes *modes = &screen->modes;
	char text[MODES_TEXT_MAX];
	size_t size = 0;

	if (screen->rings[0].is_drawn)
		size += add_empty_screen(ret, rows);
	size += copy_ring(&screen->rings[0], ret + size);
	if (modes->alternate) {
		format_text(text, sizeof(text), "\x1b[?%uh\x1b[H\x1b[J", modes->alternate);
		size += add_text(ret + size, text);
		size += copy_ring(&screen->rings[1], ret + size);
	}
	(void)modes_write_set(modes, text);
	size += add_text(ret + size, text);
	if (screen->queries_us + SCREEN_QUERY_US >= clock_now_us()) {
		memcpy(ret + size, screen->queries, screen->queries_size);
		size += screen->queries_size;
	}
	screen->queries_size = 0;
	return size;
}
