/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan with one profile of terminated hosts, made by hand: api.example has rules and the secret
 * TOKEN, open.example has neither, plain.example is without TLS and has the secrets TOKEN2 and
 * PASS.
 */
#ifndef UNIT_HTTP_RIG_H
#define UNIT_HTTP_RIG_H

#include "gateway/http/target.h"

#define RIG_TOKEN "tok/en+Value-0123456789"
#define RIG_TOKEN2 "second value 42"
#define RIG_PASS "pa55word"

struct rig {
	struct plan plan;
	const struct plan_profile *profile;
	struct target api, open, plain;
};

/* Make the plan, and give its secrets their values. */
void rig_make(struct rig *ret);

/* Give a secret a value, of `size` bytes; the result of secrets_take(). */
int rig_give(uint32_t index, const char *value, size_t size);

#endif
