/* SPDX-License-Identifier: Apache-2.0
 *
 * The recent output of a program, as a terminal that is attached later gets it: the newest bytes of
 * each of its two screens, without what a terminal would answer, and the modes at the end.
 */
#ifndef CLI_HELD_SCREEN_H
#define CLI_HELD_SCREEN_H

#include "held/modes.h"

#define SCREEN_BYTES (64U << 10)

/* Sequences that nobody has answered, and how long a program waits for an answer. */
#define SCREEN_QUERIES_MAX 512
#define SCREEN_QUERY_US 2000000U

struct screen_ring {
	uint64_t total; /* bytes since it was cleared; the newest SCREEN_BYTES are there */
	bool is_drawn;  /* there are sequences among them */
	uint8_t bytes[SCREEN_BYTES];
};

struct screen {
	struct modes modes;
	struct screen_ring rings[2]; /* the normal screen, the alternate one */
	size_t queries_size;
	uint64_t queries_us; /* time of the last one, by clock_now_us() */
	uint8_t queries[SCREEN_QUERIES_MAX];
};

/* Most bytes of screen_replay(). */
#define SCREEN_REPLAY_MAX (2 * SCREEN_BYTES + MODES_TEXT_MAX + SCREEN_QUERIES_MAX + 1024)

/* Take what the program has written. `is_attached`: a terminal answers its queries. */
void screen_take(struct screen *screen, const uint8_t *bytes, size_t size, bool is_attached);

/* Return whether the program has written nothing yet. */
bool screen_is_empty(const struct screen *screen);

/* Write what a terminal with so many rows gets first. Return the size. */
size_t screen_replay(struct screen *screen, uint32_t rows, uint8_t ret[SCREEN_REPLAY_MAX]);

#endif
