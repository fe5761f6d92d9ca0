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
	const struct node *said; /* the keys of the profile or of the file, or an entry of a list */
	const struct node *first; /* the first entry of that list */
	struct profile *profile;
	struct policy_error *error;
};

/* Begin to read a profile; `profile` may be NULL. */
struct reading reading_start(const struct profile_place *place, struct profile *profile,
			     struct policy_error *error);

/* Call `read_entry` for each entry of a list, until one fails. 0, or -1. */
int reading_each(const struct reading *reading, const char *list,
		 int (*read_entry)(const struct reading *entry));

/* Return whether an earlier entry of the list has the same text at a key ("": is the same). */
bool reading_is_again(const struct reading *entry, const char *key);

/* Do as source_fail() and source_origin(), with a key of what is read, such as "limits.memory"; "":
 * the entry that is read. */
int reading_fail(const struct reading *reading, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
struct origin reading_origin(const struct reading *reading, const char *key);

/* Return whether the key is there, also with an empty value. */
bool reading_says(const struct reading *reading, const char *key);

/* Print the key of an entry, such as "files[3].size"; `ret` has KEY_MAX bytes. */
const char *reading_key(char *ret, const char *list, uint32_t index, const char *key);

/* A path that has one spelling only. */
#define READING_PATH "an absolute path without empty parts, . and .. and without / at its end"
bool reading_is_path(const char *text);

/* Return whether a text has 1 to `most` bytes, all of them of `allowed`. */
bool reading_is_word(const char *text, const char *allowed, size_t most);

#endif
