/* SPDX-License-Identifier: Apache-2.0
 *
 * One direction of a connection: bytes that were read and could not yet be written. The memory of a
 * connection is bounded, and a side that does not read stops the other one.
 */
#ifndef GATEWAY_RELAY_RELAY_H
#define GATEWAY_RELAY_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELAY_BYTES 65536U

enum relay_state {
	RELAY_OPEN = 0,
	RELAY_ENDING, /* the source has ended; the rest is to be written */
	RELAY_ENDED,  /* the target has the end, too */
	RELAY_FAILED, /* a side was reset */
};

struct relay {
	enum relay_state state;
	uint32_t start, end; /* the kept bytes */
	uint32_t held;       /* the last ones of them, which the target may not have yet */
	uint64_t moved;      /* bytes that the target took */
	uint8_t *bytes;      /* RELAY_BYTES; NULL: none are kept. Owned until relay_drop() */
};

/* Return whether there is room for bytes of the source, and whether the target has to take some. */
bool relay_wants_source(const struct relay *relay);
bool relay_wants_target(const struct relay *relay);

/* Return memory for bytes to keep, RELAY_BYTES; NULL: there is none, and the relay has failed. */
uint8_t *relay_room(struct relay *relay);

/* Read what fits from `source`, at most `most` bytes, and keep it for the target. Return the bytes,
 * 0 if none come now; the state says whether any can come later. */
size_t relay_read(struct relay *relay, int source, size_t most);

/* Have the close of a socket reset its connection: its peer does not take the bytes so far for all.
 */
void relay_reset(int fd);

/* Drop what is kept. */
void relay_drop(struct relay *relay);

/* Move bytes from `source` to `target`, sockets that do not block, until one of them would, or has
 * fewer than were asked for: an end may wait behind them. At most `most` bytes are read, so that no
 * connection holds up the others; with 0 none are. */
void relay_move(struct relay *relay, int source, int target, size_t most);

#endif
