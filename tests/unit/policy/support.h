/* SPDX-License-Identifier: Apache-2.0
 *
 * The built-in profiles, compiled once per test program and opened as the supervisor does.
 */
#ifndef TESTS_UNIT_POLICY_SUPPORT_H
#define TESTS_UNIT_POLICY_SUPPORT_H

#include "bpf.h"
#include "common/plan/plan.h"
#include "policy/read/policy.h"
#include "policy/write/filter.h"

#include <linux/audit.h>
#include <stdint.h>

struct builtin {
	struct policy *policy;
	struct buffer blob;
	struct plan plan;
};

/* Aborts when the built-in profiles do not compile. */
struct builtin builtin_open(void);

/* Likewise, with the profiles of a file "web.yaml". */
struct builtin builtin_open_with(const char *file);
void builtin_close(struct builtin *builtin);

/* The answer of a profile's filter to a call of x86_64. */
uint32_t builtin_answer(const struct plan *plan, const char *profile, uint32_t number,
			const uint64_t arguments[6]);

/* The keys of a profile that is right, to be made wrong. */
extern const char good_profile[];

/* A file with this one profile: the key in line N of `keys` is in line N + 1 of it, and begins with
 * "profiles[0]". The caller's, to be freed. */
char *config_of(const char *keys);

#endif
