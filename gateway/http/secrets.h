/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of a profile's secrets, in memory that is in no dump and, where the limit allows it,
 * in no swap; and the needles by which they are found in what hosts answer: the value itself,
 * its base64 in the three places that it can have among other bytes, in both alphabets, and the
 * forms that it has in hexadecimal, in an address and in a text of JSON.
 */
#ifndef GATEWAY_HTTP_SECRETS_H
#define GATEWAY_HTTP_SECRETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/plan/plan.h"
#include "gateway/http/head.h"

/* A character of a value becomes at most \u00XX; bytes of the longest needle. */
#define SECRETS_GROWTH 6U
#define SECRETS_NEEDLE_MAX 24576U

/* For each value: itself, base64 in three places and two alphabets, and 14 forms. A secret has two
 * values: the present one, and the one before, which hosts may still know. */
#define SECRETS_NEEDLES_EACH 21U
#define SECRETS_VALUES_EACH 2U
#define SECRETS_NEEDLES_MAX (PLAN_SECRETS_MAX * SECRETS_VALUES_EACH * SECRETS_NEEDLES_EACH)

/* The characters beside a needle of base64 that have bits of the value. */
enum { NEEDLE_SHARES_BEFORE = 1U, NEEDLE_SHARES_AFTER = 2U };

/* A text that is covered, with the text that covers it. Each byte is from 0x20 to 0x7e. */
struct needle {
	struct slice text, placeholder;
	uint32_t edges;
};

struct needles {
	uint64_t version; /* changes with each value */
	uint32_t count;
	size_t shortest, longest; /* bytes of values: no needle is shorter, and none longer than
				   * SECRETS_GROWTH times the longest */
	struct needle rows[SECRETS_NEEDLES_MAX];
};

/* Begin with the secrets of a profile, none with a value. 0 or -errno. */
int secrets_begin(const struct plan *plan, const struct plan_profile *profile);

/* Take the value in a sealed memory file, which stays the caller's; 0, -EPROTO or another -errno.
 * An empty one is no value. The value before is still looked for in answers. */
int secrets_take(uint32_t index, int fd);

/* Have all secrets been given, with or without a value? */
bool secrets_are_complete(void);

/* Return whether an entry, by its index, has a secret. */
bool secrets_are_for(uint32_t host);

/* The result of putting values in. */
enum secrets_result {
	SECRETS_FINE = 0,
	SECRETS_ELSEWHERE,  /* a placeholder in another field than its secret's, or in the target */
	SECRETS_OTHER_HOST, /* the secret is not for this host */
	SECRETS_NO_VALUE,
	SECRETS_LONG, /* the field would have more than SECRETS_FIELD_MAX bytes */
};

#define SECRETS_FIELD_MAX 16384U

/* Return the index of the first secret whose placeholder is in the text, or -1. */
int secrets_find(struct slice text);

/* Write a field's value with the values of secrets in place of their placeholders, also in Basic's
 * base64. *ret_secret is the secret that the result is about. `ret` holds values: the caller cleans
 * it. */
enum secrets_result secrets_put(uint32_t host, const struct head_field *field,
				char ret[SECRETS_FIELD_MAX], size_t *ret_size, int *ret_secret);

/* Return the needles of all values, for a redactor. They change with secrets_take(). */
const struct needles *secrets_needles(void);

/* Return a secret's record in the plan. */
const struct plan_secret *secrets_record(int index);

#endif
