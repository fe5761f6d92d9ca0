/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys that detach a terminal, found among what a person types: as bytes, or as a program has
 * asked the terminal to report keys (CSI 92;5u, CSI 27;5;92~). Pasted text is never a key.
 */
#ifndef CLI_HELD_KEYS_H
#define CLI_HELD_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HELD_KEYS_DEFAULT "ctrl-\\,d"
#define HELD_KEYS_MAX 2
#define HELD_KEYS_TEXT_MAX 32

/* Bytes of a key's report that are looked at. */
#define HELD_KEYS_REPORT_MAX 48

struct held_keys {
	uint8_t count; /* 0: no key detaches */
	uint8_t keys[HELD_KEYS_MAX];
};

/* Read such a text: one or two keys with a comma between them, each a printable character or ctrl-
 * and a letter or one of @ [ \ ] ^ _, or "none". NULL, or the rule that it breaks. */
const char *held_keys_parse(struct held_keys *ret, const char *text);

/* Write keys as a person reads them: "ctrl-\ d". */
void held_keys_describe(const struct held_keys *keys, char ret[HELD_KEYS_TEXT_MAX]);

struct held_typing {
	struct held_keys keys;
	uint8_t state;
	bool is_pasting;
	bool is_passed;  /* the beginning of the present report has been passed on */
	bool is_pending; /* the first key was typed, and is kept in `first` */
	size_t size, first_size;
	uint8_t report[HELD_KEYS_REPORT_MAX];
	uint8_t first[HELD_KEYS_REPORT_MAX];
};

/* Most bytes that held_typing_read() writes for so many. */
#define HELD_TYPED_MAX(size) ((size) + 2 * HELD_KEYS_REPORT_MAX)

/* Pass on what was typed, without the keys that detach; *ret_detach: they were typed, and the rest
 * was not read. Nothing waits for more but the first of two keys. Return the size in `ret`. */
size_t held_typing_read(struct held_typing *typing, const uint8_t *bytes, size_t size, uint8_t *ret,
			bool *ret_detach);

#endif
