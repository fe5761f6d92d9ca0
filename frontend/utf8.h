/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#ifndef FRONTEND_UTF8_H
#define FRONTEND_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that `bytes` begins with, 1 to 4; 0 when it begins with none. */
size_t utf8_length(const char *bytes, size_t size);

bool utf8_is_valid(const char *bytes, size_t size);

/* Write a code point (below 0x110000; a surrogate too, in the same pattern) and return how many
 * of the four bytes it took. */
size_t utf8_write(uint32_t code_point, char ret[4]);

/* The code point of one character, whose `length` utf8_length() gave. */
uint32_t utf8_read(const char *bytes, size_t length);

/*
 * Is this character beyond ASCII one that nobody sees, that ends a line, or that changes the order
 * in which others are shown? Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt,
 * version 15.0): bidirectional controls, zero-width characters, variation selectors, tags; the C1
 * controls; the line and paragraph separators; the interlinear marks. Letters of any script,
 * combining marks and emoji are none.
 */
bool utf8_is_hidden(const char *bytes, size_t length);

/* Make the text one line that can be shown: each control character, hidden character and byte
 * outside UTF-8 becomes a '?'. */
void utf8_make_line(char *text);

#endif
