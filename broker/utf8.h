/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#ifndef BROKER_UTF8_H
#define BROKER_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that `bytes` begins with, 1 to 4; 0 when it begins with none. */
size_t utf8_length(const char *bytes, size_t size);

bool utf8_is_valid(const char *bytes, size_t size);

/* Write a code point (below 0x110000; a surrogate too, in the same pattern) and return how many
 * of the four bytes it took. */
size_t utf8_write(uint32_t code_point, char ret[4]);

#endif
