/* SPDX-License-Identifier: Apache-2.0
 *
 * Denials as they travel: a record for each kind of call that a workload was refused, with a count.
 */
#ifndef COMMON_RECORDS_DENIAL_H
#define COMMON_RECORDS_DENIAL_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/limits.h"
#include "common/plan/plan.h"

enum denial_source {
#define DENIAL(name, layer, operation) DENIAL_##name,
#include "common/records/denial.def"
#undef DENIAL
	DENIAL_COUNT
};

/* Kinds of refused system calls that are told apart in one execution; what comes beyond them is
 * counted together, as OTHER. */
#define DENIAL_KINDS_MAX 16

/* The kinds, OTHER, and one each of MEMORY, PIDS and DISK. */
#define DENIALS_MAX (DENIAL_KINDS_MAX + 4)

struct denial {
	uint32_t layer;    /* enum denial_source */
	uint32_t number;   /* SECCOMP: of the call */
	uint64_t argument; /* SECCOMP: what the plan_call's `argument` was, where that decides */
	uint32_t count;    /* stays at its largest value */
	uint32_t pid;      /* the first that tried, as the sandbox numbers it; 0: not known */
};

struct denials {
	uint32_t size; /* the records' bytes, as they travel */
	struct denial records[DENIALS_MAX];
};

/* Count `denial` as many times as it says: to the record of its kind, or to one of its own. System
 * calls beyond DENIAL_KINDS_MAX kinds become OTHER. */
void denials_add(struct denials *denials, struct denial denial);

/* Count one refused system call of a profile's workload. */
void denials_add_call(struct denials *denials, const struct plan *plan,
		      const struct plan_profile *profile, const struct seccomp_notif *call);

/* Take what came in a message; false, and none, when it cannot be that. */
bool denials_take(struct denials *denials, const uint8_t *bytes, uint32_t size);

_Static_assert(sizeof(struct denial) == 24, "no padding");
_Static_assert(IPC_DENIALS_MAX == DENIALS_MAX * sizeof(struct denial), "room for all");

#endif
