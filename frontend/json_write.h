/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes JSON. The result is valid JSON in valid UTF-8 without control characters, for any bytes in
 * strings. The caller nests open and close correctly. Keys are literals of ours; NULL inside an
 * array and for the outermost value.
 */
#ifndef FRONTEND_JSON_WRITE_H
#define FRONTEND_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/heap/buffer.h"

enum json_form {
	/* On one line, for a protocol. In strings a byte outside UTF-8 becomes \xNN text. */
	JSON_LINE,
	/* A value on each line, for people and their programs. In strings a byte outside UTF-8
	 * becomes U+FFFD, and a hidden character is escaped. */
	JSON_LINES,
};

struct json_writer {
	struct buffer *out;
	enum json_form form;
	bool needs_comma;
	bool has_key; /* the next value's is written */
	uint32_t depth;
	/* Called before each value, to take away what is complete; NULL: all stays in `out`. */
	void (*written)(struct json_writer *writer);
};

void json_open_object(struct json_writer *writer, const char *key);
void json_close_object(struct json_writer *writer);
void json_open_array(struct json_writer *writer, const char *key);
void json_close_array(struct json_writer *writer);

/* Write a string of any bytes. */
void json_put_string(struct json_writer *writer, const char *key, const void *text, size_t size);
void json_put_text(struct json_writer *writer, const char *key, const char *text);
/* Write null for an empty text. */
void json_put_text_or_null(struct json_writer *writer, const char *key, const char *text);
/* Write bytes as a string of base 64, with padding. */
void json_put_base64(struct json_writer *writer, const char *key, const void *bytes, size_t size);
void json_put_number(struct json_writer *writer, const char *key, uint64_t number);
void json_put_signed(struct json_writer *writer, const char *key, int64_t number);
/* Write a finite number in its shortest form. */
void json_put_double(struct json_writer *writer, const char *key, double number);
void json_put_bool(struct json_writer *writer, const char *key, bool value);
void json_put_null(struct json_writer *writer, const char *key);

/* Write the key of the next member, which is then written with a NULL key; any bytes. */
void json_put_key(struct json_writer *writer, const char *key, size_t size);

/* Write `raw`, which is JSON already: an id of a client, or the result of another writer. */
void json_put_raw(struct json_writer *writer, const char *key, const char *raw, size_t size);

#endif
