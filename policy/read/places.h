/* SPDX-License-Identifier: Apache-2.0
 *
 * The line of each key of a YAML text, so that an error found long after parsing can still name
 * its line. The same pass refuses features that a policy does not need: several documents, anchors,
 * tags, keys given twice, keys that are not plain words, NUL characters, deep nesting.
 */
#ifndef POLICY_READ_PLACES_H
#define POLICY_READ_PLACES_H

#include "policy/read/text.h"

#include <stdbool.h>
#include <stdint.h>

#define PLACES_DEPTH_MAX 8U

/* The expected shape of a file, for error messages. */
#define PLACES_EXPECTED "expected keys, such as profiles"

/* "profiles[1].files[3].size", its value, NULL where it has keys or entries of its own, and its
 * line, counted from 1. */
struct place {
	char *path;
	char *value;
	uint32_t line;
};

struct places {
	uint32_t count;
	uint32_t room;
	struct place *items;
	uint32_t slot_count; /* a power of two; more than twice as many as items */
	uint32_t *slots;     /* by hash of the path: 1 + index of the item, or 0 */
};

/*
 * Read `size` bytes of YAML; `file` is only for the message. 0, or -1 with *error set. The caller
 * frees `*ret` in both cases.
 */
int places_read(const char *file, const char *text, size_t size, struct places *ret,
		struct policy_error *error);

/* Return whether the text has the path. */
bool places_have(const struct places *places, const char *path);

/* Return whether the path has keys of its own. */
bool places_have_keys(const struct places *places, const char *path);

/* Return the value of a path; NULL if it has none. */
const char *places_value(const struct places *places, const char *path);

/* Return the line of a path, or of the nearest enclosing path; 1 for the whole file. */
uint32_t places_line(const struct places *places, const char *path);

void places_done(struct places *places);

#endif
