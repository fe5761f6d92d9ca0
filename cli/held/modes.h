/* SPDX-License-Identifier: Apache-2.0
 *
 * The modes into which a program has put its terminal, read from what it writes: the alternate
 * screen, the cursor, bracketed paste, mouse and keyboard reports. A terminal that is attached
 * later gets them, and a terminal that is left gets its own back.
 *
 * The bytes are a workload's. Sequences of unknown meaning pass; nothing here grows with them.
 */
#ifndef CLI_HELD_MODES_H
#define CLI_HELD_MODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a sequence that are looked at; a longer one is a long string, such as an image. */
#define MODES_SEQUENCE_MAX 256

/* Depth of the stack of keyboard flags; terminals have as little. */
#define MODES_KEYS_MAX 8

/* Room for the text of modes_write_set() and modes_write_reset(). */
#define MODES_TEXT_MAX 1024

enum modes_part {
	MODES_SHOWN,    /* text, and sequences that change only the picture */
	MODES_MODE,     /* a sequence that sets modes, which struct modes remembers */
	MODES_QUERY,    /* a sequence that the terminal answers */
	MODES_DROPPED,  /* a bell, an image, the clipboard: nothing that a later terminal needs */
	MODES_CLEARED,  /* a sequence that clears the screen and all that is above it */
	MODES_SWITCHED, /* the sequence has switched to the other screen */
};

struct modes_screen {
	uint32_t depth; /* sets of keyboard flags that were pushed */
	uint32_t keys[MODES_KEYS_MAX];
	bool has_keys; /* flags were set without the stack */
};

struct modes {
	uint8_t state;
	bool is_long;
	uint16_t size;
	uint8_t sequence[MODES_SEQUENCE_MAX];
	uint32_t changed;   /* rows of the private modes that are not as a terminal begins */
	uint16_t alternate; /* the mode that switched to the alternate screen; 0: none */
	bool has_keypad;
	bool is_shifted; /* to the second character set */
	bool has_line;   /* the first one draws lines */
	uint8_t other_keys;
	uint8_t cursor;
	uint16_t top, bottom;           /* the scrolling region; bottom 0: all lines */
	struct modes_screen screens[2]; /* the normal one, the alternate one */
	uint8_t last;                   /* byte that was shown; 0: none */
};

struct modes_taker {
	void *context;
	void (*take)(void *context, enum modes_part part, const uint8_t *bytes, size_t size);
};

/* Read bytes in the order in which the program wrote them. `taker` gets all of them, in parts, but
 * for an unfinished sequence, whose part comes with its end; NULL: of no interest. A struct modes
 * begins with zeroes. */
void modes_read(struct modes *modes, const uint8_t *bytes, size_t size,
		const struct modes_taker *taker);

/* Write what puts a terminal that is as it begins into these modes, without the alternate screen;
 * the size of the text. */
size_t modes_write_set(const struct modes *modes, char ret[MODES_TEXT_MAX]);

/* Write what brings such a terminal back, the alternate screen left and an unfinished sequence
 * ended; the size of the text. */
size_t modes_write_reset(const struct modes *modes, char ret[MODES_TEXT_MAX]);

#endif
