/* SPDX-License-Identifier: Apache-2.0
 *
 * Untrusted bytes made showable: always valid UTF-8, without sequences that a terminal obeys. A
 * byte outside UTF-8 becomes \xNN, a control character \xNN (C1: \u00NN, a carriage return \r);
 * newline and tab stay. A backslash stays as it is.
 *
 * A text has one of two uses. Contents, which a program may read and write back, keep every other
 * character, and there the line end \r\n becomes \n. Names, diffs and questions are judged by
 * their look: there hidden characters (utf8_is_hidden()) become \uNNNN or \UNNNNNNNN, too.
 */
#ifndef BROKER_IO_TEXT_H
#define BROKER_IO_TEXT_H

#include "lib/heap/buffer.h"

enum text_use {
	TEXT_CONTENTS,
	TEXT_JUDGED,
};

/* Append all of `bytes`. */
void text_append(struct buffer *buffer, const char *bytes, size_t size, enum text_use use);

/* Return the first of `bytes`, as at most `room` bytes of text, then "..." if some were left out.
 * Newlines and tabs become spaces: for quoting a value inside a sentence, which is judged by its
 * look. The text is valid until the fourth call after this one. */
const char *text_quoted(const char *bytes, size_t size, size_t room);

/* Return how many bytes at the end begin a character that is incomplete. */
size_t text_unfinished(const char *bytes, size_t size);

/* Return how many of the first (last) bytes make at most `room` bytes of text. Characters are not
 * cut. */
size_t text_fit_first(const char *bytes, size_t size, size_t room, enum text_use use);
size_t text_fit_last(const char *bytes, size_t size, size_t room, enum text_use use);

#endif
