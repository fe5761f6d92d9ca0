/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one JSON text into a tree. The only JSON reader of the project: yajl finds the tokens and
 * checks the grammar, this file checks what yajl does not (see json_read.c) and keeps the tree.
 * Nothing recurses, and what a text can make us allocate is bounded.
 *
 * Strings and keys are decoded in place, so the text must be writable and must live as long as the
 * document. Numbers stay text: nothing is rounded.
 */
#ifndef BROKER_JSON_READ_H
#define BROKER_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 128
/* Values in one text; 48 bytes of memory each. */
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

/* What is wrong with a text. The first three make it no JSON at all; after the others its
 * top-level "id", if it was readable, is still there. */
enum json_error {
	JSON_OK,
	JSON_ERROR_UTF8,
	JSON_ERROR_SYNTAX,
	JSON_ERROR_DEPTH,
	JSON_ERROR_DUPLICATE,
	JSON_ERROR_VALUES,
};

/* Read it through the functions below. */
struct json_value {
	uint8_t kind;      /* enum json_kind */
	bool is_escaped;   /* the string's text is still as it came, with backslashes */
	bool has_unpaired; /* a \uD800..\uDFFF without its other half; known once decoded */
	char *key;         /* decoded, not terminated; NULL in an array and at the top */
	char *text;        /* string or number, not terminated */
	uint32_t key_size;
	uint32_t size;  /* of the text */
	uint32_t count; /* of an array's or object's values */
	uint32_t first; /* place of the first of them */
	uint32_t next;  /* place of the next value in the same container; 0: none */
	uint32_t parent;
};

struct json_document {
	struct json_value *values; /* [0] is the top */
	uint32_t count;
	uint32_t room;
};

/* Read `text`. The document must be given to json_done() whatever comes back. */
enum json_error json_read(struct json_document *ret, char *text, size_t size);

void json_done(struct json_document *document);

/* The top value; NULL after JSON_ERROR_UTF8 and JSON_ERROR_SYNTAX. */
struct json_value *json_top(const struct json_document *document);

/* The values of an array or object in order; NULL at the end, or for another kind of value. */
struct json_value *json_first(const struct json_document *document, const struct json_value *in);
struct json_value *json_next(const struct json_document *document, const struct json_value *after);

/* An object's member; NULL when there is none, or `object` is NULL or no object. */
struct json_value *json_member(const struct json_document *document,
			       const struct json_value *object, const char *key);

bool json_is(const struct json_value *value, enum json_kind kind);

/* A string decoded: `value->text`, `value->size`. An unpaired surrogate is written in the pattern
 * of UTF-8 and noted in `value->has_unpaired`. */
void json_decode(struct json_value *value);

/* Decoded string equal to `text`? */
bool json_equals(struct json_value *value, const char *text);

/* The integer that a number's text means, also when written as 1.0 or 1e3, if it lies within
 * +-9007199254740991 (what every JSON implementation can hold). */
bool json_integer(const struct json_value *value, int64_t *ret);

#endif
