/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes JSON on one line. Whatever bytes are given as strings, the result is valid JSON in valid
 * UTF-8 without a newline. Keys are our own literals; NULL inside an array.
 */
#ifndef BROKER_JSON_WRITE_H
#define BROKER_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "io/buffer.h"

struct json_writer {
	struct buffer *out;
	bool needs_comma;
};

void json_open_object(struct json_writer *writer, const char *key);
void json_close_object(struct json_writer *writer);
void json_open_array(struct json_writer *writer, const char *key);
void json_close_array(struct json_writer *writer);

/* Bytes outside UTF-8 are written as \xNN text (see text.h); control characters are kept. */
void json_put_string(struct json_writer *writer, const char *key, const char *text, size_t size);
void json_put_text(struct json_writer *writer, const char *key, const char *text);
void json_put_number(struct json_writer *writer, const char *key, uint64_t number);
void json_put_signed(struct json_writer *writer, const char *key, int64_t number);
/* A finite number, as short as it can be. */
void json_put_double(struct json_writer *writer, const char *key, double number);
void json_put_bool(struct json_writer *writer, const char *key, bool value);

/* The key of the member that is written next, with NULL for its key; any bytes. */
void json_put_key(struct json_writer *writer, const char *key, size_t size);

/* `raw` is JSON already: an id as it came, or something that a writer made. */
void json_put_raw(struct json_writer *writer, const char *key, const char *raw, size_t size);

#endif
