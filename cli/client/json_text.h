/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON as text: finds values in a document without changing a byte of it, for edits that keep all
 * else as a person wrote it.
 */
#ifndef CLI_CLIENT_JSON_TEXT_H
#define CLI_CLIENT_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Containers inside one another. */
#define JSON_TEXT_DEPTH_MAX 64

/* Bytes of a document. */
struct json_span {
	size_t at;
	size_t size;
};

/* One element of an array or member of an object, whose key is without its quotes. */
struct json_item {
	struct json_span key; /* empty in an array */
	struct json_span value;
};

/* Return what is wrong with a document as RFC 8259 defines it, as a phrase, with the number of its
 * line in *ret_line; else NULL, with its value in *ret. */
const char *json_text_check(const char *text, size_t size, struct json_span *ret, size_t *ret_line);

/* Find the next item of a container in a document that was checked. *at is 0 before the first
 * item. */
bool json_text_next(const char *text, const struct json_span *container, size_t *at,
		    struct json_item *ret);

/* Find the members of an object with this name, in letters, digits and dashes. Returns how many
 * there are, with the last in *ret. */
size_t json_text_find(const char *text, const struct json_span *object, const char *name,
		      struct json_item *ret);

/* Is a key, or a string without its quotes, this text? Escapes count as their characters. */
bool json_text_is(const char *text, const struct json_span *key, const char *wanted);

/* Do two values differ in nothing but white space between their tokens? */
bool json_text_equal(const char *text, const struct json_span *value, const char *other,
		     const struct json_span *other_value);

#endif
