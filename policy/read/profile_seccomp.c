/* SPDX-License-Identifier: Apache-2.0
 *
 * `seccomp` of a profile: the groups of system calls that it allows, given as a whole or as a
 * change to the parent's, and single calls taken out of them. An entry that takes nothing away is
 * refused: its writer is mistaken about the profile.
 */
#include "policy/read/profile_parts.h"

#include <string.h>

static int fail_group(const struct reading *entry, const char *name, const char *problem)
{
	return reading_fail(entry, "", "group %s %s", name, problem);
}

/* Allow or refuse the group of an entry. */
static int change_group(const struct reading *entry, bool is_allowing, const bool *before)
{
	const char *name = entry->said->text + (entry->said->text[0] == '@' ? 1 : 0);
	struct profile *profile = entry->profile;
	const int group = seccomp_group_find(name);

	if (group < 0)
		return reading_fail(entry, "",
				    "\"%s\" is not a group; expected one that `msp-policy groups` "
				    "lists",
				    entry->said->text);
	if (seccomp_group_at((uint32_t)group)->kind != SECCOMP_ALLOWABLE)
		return reading_fail(entry, "",
				    "group %s can never be allowed: %s; expected another group",
				    name, seccomp_group_at((uint32_t)group)->reason);
	if (is_allowing && before[group])
		return profile->seccomp.is_allowed[group]
			       ? 0 /* shipped profiles get more groups, and the entry still holds */
			       : fail_group(entry, name,
					    "is removed as well; expected one of the two");
	if (!is_allowing && !before[group])
		return fail_group(entry, name, "is not allowed anyway; expected one that is");
	if (profile->seccomp.is_allowed[group] == is_allowing)
		return fail_group(entry, name, "given twice; expected once");
	profile->seccomp.is_allowed[group] = is_allowing;
	profile->origins.groups[group] = reading_origin(entry, "");
	return 0;
}

static int allow_group(const struct reading *entry)
{
	static const bool nothing[SECCOMP_GROUPS_MAX];

	return change_group(entry, true, nothing);
}

static int add_group(const struct reading *entry)
{
	return change_group(entry, true, entry->profile->parent->seccomp.is_allowed);
}

static int remove_group(const struct reading *entry)
{
	return change_group(entry, false, entry->profile->parent->seccomp.is_allowed);
}

/* Set the whole list. Groups that it does not name are not allowed; its line is their origin. */
static int allow_groups(const struct reading *reading)
{
	static const char key[] = "seccomp.allow";
	struct profile *profile = reading->profile;

	if (node_texts(reading->said, key).count == 0)
		return reading_fail(reading, key, "empty; expected groups such as basic");
	memset(profile->seccomp.is_allowed, 0, sizeof(profile->seccomp.is_allowed));
	for (uint32_t i = 0; i < seccomp_group_count(); i++)
		profile->origins.groups[i] = reading_origin(reading, key);
	return reading_each(reading, key, allow_group);
}

static int change_parents_groups(const struct reading *reading)
{
	static const char add[] = "seccomp.add", remove[] = "seccomp.remove";
	const bool adds = node_texts(reading->said, add).count > 0;

	if (!adds && node_texts(reading->said, remove).count == 0)
		return 0;
	if (reading_says(reading, "seccomp.allow"))
		return reading_fail(reading, adds ? add : remove,
				    "changes what the parent allows, and seccomp.allow replaces "
				    "it; expected one of the two");
	if (reading->profile->parent == NULL)
		return reading_fail(reading, adds ? add : remove,
				    "there is no parent to change; expected seccomp.allow, or a "
				    "profile to extend");
	return reading_each(reading, remove, remove_group) != 0
		       ? -1
		       : reading_each(reading, add, add_group);
}

static int refuse_call(const struct reading *entry)
{
	const char *call = entry->said->text;
	struct seccomp_policy *policy = &entry->profile->seccomp;
	const int group = seccomp_group_of(call);

	if (group < 0)
		return reading_fail(entry, "",
				    "\"%s\" is not a system call of x86_64; expected a name such "
				    "as socket",
				    call);
	if (!policy->is_allowed[group])
		return reading_fail(entry, "",
				    "%s is not allowed anyway, its group is %s; expected a call of "
				    "a group that is",
				    call, seccomp_group_at((uint32_t)group)->name);
	if (seccomp_is_refused(policy, (uint32_t)seccomp_number(call)))
		return reading_fail(entry, "",
				    "%s is refused already; expected a call that is allowed", call);
	if (policy->refused_count == SECCOMP_CALLS_MAX)
		return reading_fail(entry, "", "too many; expected at most %u calls",
				    SECCOMP_CALLS_MAX);
	entry->profile->origins.refused[policy->refused_count] = reading_origin(entry, "");
	policy->refused[policy->refused_count++] = (uint32_t)seccomp_number(call);
	return 0;
}

int seccomp_apply(const struct reading *reading)
{
	if (reading_says(reading, "seccomp.allow") && allow_groups(reading) != 0)
		return -1;
	return change_parents_groups(reading) != 0
		       ? -1
		       : reading_each(reading, "seccomp.refuse", refuse_call);
}
