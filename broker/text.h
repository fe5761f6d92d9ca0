/* SPDX-License-Identifier: Apache-2.0
 *
 * Untrusted bytes made showable: always valid UTF-8, and nothing in it that a terminal would obey.
 * A byte outside UTF-8 becomes \xNN, a control character \xNN (C1: \u00NN, a lone carriage return
 * \r), the line end \r\n becomes \n; newline and tab stay. A backslash stays as it is.
 */
#ifndef BROKER_TEXT_H
#define BROKER_TEXT_H

#include "buffer.h"

/* Append all of `bytes`. */
void text_append(struct buffer *buffer, const char *bytes, size_t size);

/* Append from `bytes` what makes at most `room` bytes of text, then "..." if that was not all.
 * Newlines and tabs become spaces: for quoting a value inside a sentence. */
void text_quote(struct buffer *buffer, const char *bytes, size_t size, size_t room);

/* How many of the first (last) bytes make at most `room` bytes of text. Characters are not cut. */
size_t text_fit_first(const char *bytes, size_t size, size_t room);
size_t text_fit_last(const char *bytes, size_t size, size_t room);

#endif
