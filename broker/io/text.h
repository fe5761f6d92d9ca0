/* SPDX-License-Identifier: Apache-2.0
 *
 * Untrusted bytes made showable: always valid UTF-8, and nothing in it that a terminal would obey.
 * A byte outside UTF-8 becomes \xNN, a control character \xNN (C1: \u00NN, a lone carriage return
 * \r), the line end \r\n becomes \n; newline and tab stay. A backslash stays as it is.
 *
 * Beyond that a text is for one of two uses. Contents, which a program's reader takes up and may
 * write back, keep every other character. In what somebody judges by its look (names, diffs,
 * questions) hidden characters (utf8_is_hidden()) become \uNNNN or \UNNNNNNNN, too.
 */
#ifndef BROKER_IO_TEXT_H
#define BROKER_IO_TEXT_H

#include "io/buffer.h"

enum text_use {
	TEXT_CONTENTS,
	TEXT_JUDGED,
};

/* Append all of `bytes`. */
void text_append(struct buffer *buffer, const char *bytes, size_t size, enum text_use use);

/* Append from `bytes` what makes at most `room` bytes of text, then "..." if that was not all.
 * Newlines and tabs become spaces: for quoting a value inside a sentence, which is judged. */
void text_quote(struct buffer *buffer, const char *bytes, size_t size, size_t room);

/* How many of the first (last) bytes make at most `room` bytes of text. Characters are not cut. */
size_t text_fit_first(const char *bytes, size_t size, size_t room, enum text_use use);
size_t text_fit_last(const char *bytes, size_t size, size_t room, enum text_use use);

#endif
