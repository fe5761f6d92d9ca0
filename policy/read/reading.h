/* SPDX-License-Identifier: Apache-2.0
 *
 * Read the settings or one profile of a configuration: the keys, their origins and their errors.
 */
#ifndef POLICY_READ_READING_H
#define POLICY_READ_READING_H

#include "policy/read/profile.h"

#define KEY_MAX 96

/* The context of profile_parts.h's functions, and of those of settings.c, which have no profile. */
struct reading {
	struct profile_place place;
	const struct node *said; /* the profile's keys; those of the file */
	struct profile *profile;
	struct policy_error *error;
};

/* Do as source_fail() and source_origin(), with a key such as "limits.memory" of what is read. */
int reading_fail(const struct reading *reading, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
struct origin reading_origin(const struct reading *reading, const char *key);

/* Return whether the key is there, also with an empty value. */
bool reading_says(const struct reading *reading, const char *key);

/* Return how many entries the list has; 0: it is not there. */
uint32_t reading_count(const struct reading *reading, const char *list);

/* Print the key of an entry, such as "files[3].size"; `ret` has KEY_MAX bytes. */
const char *reading_key(char *ret, const char *list, uint32_t index, const char *key);

/* A path that has one spelling only. */
#define READING_PATH "an absolute path without empty parts, . and .. and without / at its end"
bool reading_is_path(const char *text);

#endif
