/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys whose values are numbers with a unit and a range, and their places in the plan.
 */
#ifndef POLICY_NUMBERS_H
#define POLICY_NUMBERS_H

#include <stddef.h>

#include "policy/profile_parts.h"

enum number_unit {
	UNIT_SIZE,
	UNIT_DURATION,
	UNIT_SECONDS, /* written as a duration, kept in whole seconds; 0: no limit */
	UNIT_SPAN,    /* the same; 0 has no meaning of its own */
	UNIT_NUMBER,
	UNIT_AMOUNT, /* a number that may be written as a size is */
};

struct number {
	const char *key; /* of the profile, such as "limits.memory" */
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

#define NUMBER_K (1ULL << 10)
#define NUMBER_M (1ULL << 20)
#define NUMBER_G (1ULL << 30)
#define NUMBER_T (1ULL << 40)
#define NUMBER_DAY (24ULL * 60 * 60)

#define NUMBER_PROBLEM_MAX 256

/* Read the text of such a value. True and *ret, or what is wrong with it. */
bool number_read(const struct number *number, const char *text, uint64_t *ret,
		 char problem[NUMBER_PROBLEM_MAX]);

/*
 * Take over what the file says of `count` numbers: `said` is the struct of the source, or NULL. For
 * each that is said, `origins` gets where, and *ret_said a bit. 0, or -1 with the error set.
 */
int numbers_apply(const struct reading *reading, const struct number *numbers, uint32_t count,
		  const void *said, struct origin *origins, uint32_t *ret_said);

/* All of them have been given: a bit in `said` for each. 0, or -1 with the error set. */
int numbers_check(const struct reading *reading, const struct number *numbers, uint32_t count,
		  uint32_t said);

/* The value as a file says it, and its key behind the dot. */
const char *number_value(const struct profile *profile, const struct number *number, char ret[32]);

#endif
