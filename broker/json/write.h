/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes JSON on one line. The result is valid JSON in valid UTF-8 without a newline, for any
 * bytes in strings. Keys are literals of the broker; NULL inside an array.
 */
#ifndef BROKER_JSON_WRITE_H
#define BROKER_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/buffer.h"

struct json_writer {
	struct buffer *out;
	bool needs_comma;
};

void json_open_object(struct json_writer *writer, const char *key);
void json_close_object(struct json_writer *writer);
void json_open_array(struct json_writer *writer, const char *key);
void json_close_array(struct json_writer *writer);

/* Write a string. Bytes outside UTF-8 become \xNN text (see text.h); control characters are
 * kept. */
void json_put_string(struct json_writer *writer, const char *key, const char *text, size_t size);
void json_put_text(struct json_writer *writer, const char *key, const char *text);
void json_put_number(struct json_writer *writer, const char *key, uint64_t number);
void json_put_signed(struct json_writer *writer, const char *key, int64_t number);
/* Write a finite number in its shortest form. */
void json_put_double(struct json_writer *writer, const char *key, double number);
void json_put_bool(struct json_writer *writer, const char *key, bool value);

/* Write the key of the next member, which is then written with a NULL key; any bytes. */
void json_put_key(struct json_writer *writer, const char *key, size_t size);

/* Write `raw`, which is JSON already: an id of a client, or the result of another writer. */
void json_put_raw(struct json_writer *writer, const char *key, const char *raw, size_t size);

#endif
