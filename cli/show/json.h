/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes JSON, and only writes it: msp reads none. The caller nests begin and end correctly; a
 * `name` is NULL inside arrays and for the outermost value. What comes out is always valid UTF-8
 * without control characters.
 */
#ifndef CLI_SHOW_JSON_H
#define CLI_SHOW_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
	int fd;
	int error; /* the first failure to write, -errno; kept until json_end() */
	bool needs_comma;
	uint32_t depth;
	size_t used;
	char buffer[4096];
};

/* Write to `fd`, which stays the caller's. */
void json_init(struct json *json, int fd);

/* A newline and everything to the descriptor; 0 or the first -errno. */
int json_finish(struct json *json);

void json_object(struct json *json, const char *name);
void json_object_end(struct json *json);
void json_array(struct json *json, const char *name);
void json_array_end(struct json *json);

/* Bytes that are no UTF-8 become U+FFFD each. */
void json_string(struct json *json, const char *name, const char *text);
void json_string_sized(struct json *json, const char *name, const void *text, size_t size);

/* Two pieces as one string in base64, as if they were one. */
void json_base64(struct json *json, const char *name, const uint8_t *const parts[2],
		 const size_t sizes[2]);

/* Two pieces as one string. */
void json_string_parts(struct json *json, const char *name, const uint8_t *const parts[2],
		       const size_t sizes[2]);

void json_number(struct json *json, const char *name, uint64_t number);
void json_bool(struct json *json, const char *name, bool is_true);
void json_null(struct json *json, const char *name);

#endif
