/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON values that live on after the text they were read from. Nothing recurses.
 */
#ifndef BROKER_JSON_COPY_H
#define BROKER_JSON_COPY_H

#include "json/read.h"
#include "json/write.h"

/* A document with a text of its own. An all-zero struct is an empty one. */
struct json_tree {
	struct json_document document; /* json_top() of it is the value */
	char *text;
	size_t bytes; /* of memory, for those who count */
};

/* A copy of `value` with all that is in it, in *ret, which the caller gives to json_tree_done(). */
void json_tree_copy(struct json_tree *ret, const struct json_document *document,
		    const struct json_value *value);

void json_tree_done(struct json_tree *tree);

/* The value after the last one inside `value`, as a place in the document. */
uint32_t json_end(const struct json_document *document, const struct json_value *value);

/* Write `value` with all that is in it; its strings are decoded on the way. */
void json_put_value(struct json_writer *writer, const char *key,
		    const struct json_document *document, const struct json_value *value);

#endif
