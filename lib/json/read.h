/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one JSON text into a tree. The only JSON reader of the project, of clients' texts in
 * msp-broker and of images' in msp-image: yajl finds the tokens and checks the grammar, this file
 * adds the checks that yajl lacks (see read.c) and keeps the tree. No function recurses, and the
 * memory that a text can use is bounded.
 *
 * Strings and keys are decoded in place, so the text must be writable and must live as long as the
 * document. Numbers stay text and are never rounded.
 */
#ifndef LIB_JSON_READ_H
#define LIB_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 128
/* Values in one text; each takes 48 bytes of memory. */
#define JSON_VALUES_MAX 65536U

enum json_kind {
	JSON_NULL,
	JSON_TRUE,
	JSON_FALSE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/* Errors of a text. After the first three it is no JSON at all; after the others its top-level
 * "id", if it was readable, is still there. */
enum json_error {
	JSON_OK,
	JSON_ERROR_UTF8,
	JSON_ERROR_SYNTAX,
	JSON_ERROR_DEPTH,
	JSON_ERROR_DUPLICATE,
	JSON_ERROR_VALUES,
};

/* Fields are private: use the functions below. */
struct json_value {
	uint8_t kind;      /* enum json_kind */
	bool is_escaped;   /* the string still has its backslashes */
	bool has_unpaired; /* a \uD800..\uDFFF without its other half; known once decoded */
	char *key;         /* decoded, not terminated; NULL in an array and at the top */
	char *text;        /* string or number, not terminated */
	uint32_t key_size;
	uint32_t size;  /* bytes of the text */
	uint32_t count; /* values of an array or object */
	uint32_t first; /* index of its first value */
	uint32_t next;  /* index of the next value in the same container; 0: none */
	uint32_t parent;
};

struct json_document {
	struct json_value *values; /* [0] is the top */
	uint32_t count;
	size_t room;
};

/* Read `text`. The caller must free the document with json_done(), also after an error. */
enum json_error json_read(struct json_document *ret, char *text, size_t size);

void json_done(struct json_document *document);

/* Return the top value; NULL after JSON_ERROR_UTF8 and JSON_ERROR_SYNTAX. */
struct json_value *json_top(const struct json_document *document);

/* Walk through the values of an array or object in order; NULL at the end, or for another kind of
 * value. */
struct json_value *json_first(const struct json_document *document, const struct json_value *in);
struct json_value *json_next(const struct json_document *document, const struct json_value *after);

/* Return an object's member. NULL: it has no such member, or `object` is NULL or no object. */
struct json_value *json_member(const struct json_document *document,
			       const struct json_value *object, const char *key);

bool json_is(const struct json_value *value, enum json_kind kind);

/* Decode a string into `value->text`, `value->size`. An unpaired surrogate is written in the
 * pattern of UTF-8 and sets `value->has_unpaired`. */
void json_decode(struct json_value *value);

/* Return true if the decoded string equals `text`. */
bool json_equals(struct json_value *value, const char *text);

/* Read the integer that a number's text means, also when written as 1.0 or 1e3, if it lies within
 * +-9007199254740991 (the range of every JSON implementation). */
bool json_integer(const struct json_value *value, int64_t *ret);

#endif
