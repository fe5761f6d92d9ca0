/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON values that outlive the text they were read from. No function recurses.
 */
#ifndef BROKER_JSON_COPY_H
#define BROKER_JSON_COPY_H

#include "frontend/json_write.h"
#include "lib/json/read.h"

/* A document with a text of its own. An all-zero struct is an empty one. */
struct json_tree {
	struct json_document document; /* json_top() of it is the value */
	char *text;
	size_t bytes; /* memory in use, for callers with a bound */
};

/* Copy `value` with its whole content into *ret; the caller frees it with json_tree_done(). */
void json_tree_copy(struct json_tree *ret, const struct json_document *document,
		    const struct json_value *value);

void json_tree_done(struct json_tree *tree);

/* Return the index in the document of the value after the last one inside `value`. */
uint32_t json_end(const struct json_document *document, const struct json_value *value);

/* Write `value` with its whole content; its strings are decoded on the way. */
void json_put_value(struct json_writer *writer, const char *key,
		    const struct json_document *document, const struct json_value *value);

#endif
