/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of keys as the table of keys says: read, kept, printed, and missed.
 */
#ifndef POLICY_READ_VALUES_H
#define POLICY_READ_VALUES_H

#include "policy/read/keys.h"
#include "policy/read/reading.h"

/*
 * Keep the values of the keys that are read, of a set, and of the sets within, in the fields of
 * *kept: a profile, whose origins are set, too, an entry, or the settings. 0, or -1 with the error
 * set.
 */
int values_read(const struct reading *reading, enum key_set set, void *kept);

/* Check that the profile has each value of this need. 0, or -1 with the error set. */
int values_check(const struct reading *reading, enum key_need need);

/* Print the value of a number or a word as a file has it. */
#define VALUE_TEXT_MAX 32
void value_print(const struct profile *profile, enum key_id key, char ret[VALUE_TEXT_MAX]);

/* Return the origin of a key's value, the profile's own or inherited; no file: there is none. */
const struct origin *value_origin(const struct profile *profile, enum key_id key);

#endif
