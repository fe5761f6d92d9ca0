/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that cannot be guessed: knowing one is the permission to use it.
 */
#ifndef BROKER_IO_RANDOM_ID_H
#define BROKER_IO_RANDOM_ID_H

/* 128 random bits in Crockford's base 32, lower case. */
#define RANDOM_ID_CHARS 26

/* Make a new id, terminated. The library of the random bytes must have been started. */
void random_id_make(char ret[RANDOM_ID_CHARS + 1]);

#endif
