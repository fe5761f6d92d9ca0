/* SPDX-License-Identifier: Apache-2.0
 *
 * What a built-in profile's filter has to answer, said a second time: from the table of groups, a
 * list of the groups that each profile is meant to have, and plain C for the conditions on
 * arguments. Nothing of the compiler is used.
 */
#ifndef TESTS_UNIT_POLICY_ORACLE_H
#define TESTS_UNIT_POLICY_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oracle_profile {
	const char *name;
	const char *groups; /* allowed ones, each with a space on either side */
};

extern const struct oracle_profile oracle_profiles[];
extern const size_t oracle_profile_count;

/* The action for a call that the profile refuses. */
uint32_t oracle_refused(const struct oracle_profile *profile);

/* The action for a call with these arguments. */
uint32_t oracle_answer(const struct oracle_profile *profile, const char *call,
		       const uint64_t arguments[6]);

/* Does the profile allow the group that the call is in? */
bool oracle_has_group_of(const struct oracle_profile *profile, const char *call);

/* Is the call, where it is allowed, allowed for some arguments only? */
bool oracle_is_conditional(const char *call);

/* The same for a number; of one that no group has, ENOSYS. */
uint32_t oracle_answer_number(const struct oracle_profile *profile, uint32_t number,
			      const uint64_t arguments[6]);

#endif
