/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys whose values are numbers with a unit and a range, and their fields in the plan.
 */
#ifndef POLICY_READ_NUMBERS_H
#define POLICY_READ_NUMBERS_H

#include <stddef.h>

#include "policy/read/profile_parts.h"

enum number_unit {
	UNIT_SIZE,
	UNIT_DURATION,
	UNIT_SECONDS, /* written as a duration, kept in whole seconds; 0: no limit */
	UNIT_SPAN,    /* as UNIT_SECONDS, but 0 has no special meaning */
	UNIT_NUMBER,
	UNIT_AMOUNT, /* a number that may be written like a size */
};

struct number {
	const char *key; /* in the profile, such as "limits.memory" */
	size_t said;     /* offset of its text in the struct of the source */
	size_t kept;     /* offset in struct plan_profile */
	size_t kept_bytes;
	enum number_unit unit;
	uint64_t least, most;
};

/* A row: `key` of the mapping `of`, said in struct source_OF. */
#define NUMBER(of, key, field, unit, least, most)                                                  \
	{                                                                                          \
#of "." #key, offsetof(struct source_##of, key),                                   \
			offsetof(struct plan_profile, field),                                      \
			sizeof(((struct plan_profile *)NULL)->field), unit, least, most            \
	}

/* The Landlock ABIs that policy can ask for: 1 has no right to move a file to another directory,
 * which msp's own processes need; 7 is the newest that msp makes use of. */
#define LANDLOCK_ABI_LEAST 2
#define LANDLOCK_ABI_MOST 7

#define NUMBER_K (1ULL << 10)
#define NUMBER_M (1ULL << 20)
#define NUMBER_G (1ULL << 30)
#define NUMBER_T (1ULL << 40)
#define NUMBER_DAY (24ULL * 60 * 60)

#define NUMBER_PROBLEM_MAX 256

/* Parse a value's text. True with *ret set, or false with a problem. */
bool number_read(const struct number *number, const char *text, uint64_t *ret,
		 char problem[NUMBER_PROBLEM_MAX]);

/*
 * Take over the file's values of `count` numbers: `said` is the struct of the source, or NULL. For
 * each given number, set its `origins` entry and a bit in *ret_said. 0, or -1 with the error set.
 */
int numbers_apply(const struct reading *reading, const struct number *numbers, uint32_t count,
		  const void *said, struct origin *origins, uint32_t *ret_said);

/* Check that all numbers are given: a bit in `said` for each. 0, or -1 with the error set. */
int numbers_check(const struct reading *reading, const struct number *numbers, uint32_t count,
		  uint32_t said);

/* Print the value as a file has it. Return the key behind its dot. */
const char *number_value(const struct profile *profile, const struct number *number, char ret[32]);

#endif
