/* SPDX-License-Identifier: Apache-2.0
 *
 * Read one profile of a configuration: its keys, their origins and their errors.
 */
#ifndef POLICY_READ_READING_H
#define POLICY_READ_READING_H

#include "policy/read/profile.h"

#define KEY_MAX 96

/* The context of profile_parts.h's functions. */
struct reading {
	struct profile_place place;
	const struct source_profile *said;
	struct profile *profile;
	struct policy_error *error;
};

/* Do as source_fail(), source_says() and source_origin(), with a key of the profile such as
 * "limits.memory". */
int reading_fail(const struct reading *reading, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool reading_says(const struct reading *reading, const char *key);
struct origin reading_origin(const struct reading *reading, const char *key);

/* Print the key of an entry, such as "files[3].size"; `ret` has KEY_MAX bytes. */
const char *reading_key(char *ret, const char *list, uint32_t index, const char *key);

/* A path that has one spelling only. */
#define READING_PATH "an absolute path without empty parts, . and .. and without / at its end"
bool reading_is_path(const char *text);

#endif
