/* SPDX-License-Identifier: Apache-2.0
 *
 * A configuration as in its YAML file: each key is one of the table (keys.def) and has the shape
 * that is said there. The values are still texts.
 */
#ifndef POLICY_READ_SOURCE_H
#define POLICY_READ_SOURCE_H

#include "policy/read/node.h"
#include "policy/read/text.h"

#include <stdarg.h>
#include <stdint.h>

/* Room for about 64 profiles of the largest built-in one's size, more than a plan can hold. */
#define SOURCE_BYTES_MAX 262144U

/* A line of a file; NULL and 0: none. */
struct origin {
	const char *file;
	uint32_t line;
};

struct source {
	char *file; /* its name, for messages */
	struct node root;
};

/* Read `size` bytes of YAML; `file` is the name for messages. NULL and *error set on a mistake. */
struct source *source_load(const char *file, const char *text, size_t size,
			   struct policy_error *error);

/* Return how many profiles the file has, and the keys of one. */
uint32_t source_profiles(const struct source *source);
const struct node *source_profile(const struct source *source, uint32_t index);

/* Set *error to "file:line: key: ..." and return -1. `key` is one within a node of the file, such
 * as "profiles[1].files[3].size" in its root; "": the node itself. */
int source_fail(const struct source *source, struct policy_error *error, const struct node *node,
		const char *key, const char *format, ...) __attribute__((format(printf, 5, 6)));
void source_vfail(const struct source *source, struct policy_error *error, const struct node *node,
		  const char *key, const char *format, va_list arguments)
	__attribute__((format(printf, 5, 0)));

/* Return the origin of `key`, or of the nearest key around it; it belongs to the source. */
struct origin source_origin(const struct source *source, const char *key);

/* Free the source and return NULL. */
struct source *source_free(struct source *source);

#endif
