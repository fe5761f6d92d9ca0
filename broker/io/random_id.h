/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that nobody can guess: whoever knows one was given it.
 */
#ifndef BROKER_IO_RANDOM_ID_H
#define BROKER_IO_RANDOM_ID_H

/* 128 random bits in Crockford's base 32, lower case. */
#define RANDOM_ID_CHARS 26

/* A new one, terminated. The library of the random bytes must have been started. */
void random_id_make(char ret[RANDOM_ID_CHARS + 1]);

#endif
