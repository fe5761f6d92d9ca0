/* SPDX-License-Identifier: Apache-2.0
 *
 * `seccomp` of a profile: the groups of system calls that it allows, given as a whole or as a
 * change to the parent's, and single calls taken out of them. An entry that changes nothing is
 * refused: its writer is mistaken about the profile.
 */
#include "policy/read/profile_parts.h"

#include <string.h>

/* A list of groups, and its effect. */
struct group_list {
	const char *key;
	struct strings names;
	bool is_allowing;
	const char *futile; /* the message for a group that it does not change */
};

static int fail_group(const struct reading *reading, const char *key, const char *name,
		      const char *problem)
{
	return reading_fail(reading, key, "group %s %s", name, problem);
}

/* Apply entry `index` of the list; `before`: the allowed groups before the whole list. */
static int change_group(const struct reading *reading, const struct group_list *list,
			uint32_t index, const bool *before)
{
	const char *name = list->names.items[index] + (list->names.items[index][0] == '@' ? 1 : 0);
	struct profile *profile = reading->profile;
	const int group = seccomp_group_find(name);
	char key[KEY_MAX];

	(void)reading_key(key, list->key, index, "");
	if (group < 0)
		return reading_fail(reading, key,
				    "\"%s\" is not a group; expected one that `msp-policy groups` "
				    "lists",
				    list->names.items[index]);
	if (seccomp_group_at((uint32_t)group)->kind != SECCOMP_ALLOWABLE)
		return reading_fail(reading, key,
				    "group %s can never be allowed: %s; expected another group",
				    name, seccomp_group_at((uint32_t)group)->reason);
	if (before[group] == list->is_allowing)
		return fail_group(reading, key, name, list->futile);
	if (profile->seccomp.is_allowed[group] == list->is_allowing)
		return fail_group(reading, key, name, "given twice; expected once");
	profile->seccomp.is_allowed[group] = list->is_allowing;
	profile->origins.groups[group] = reading_origin(reading, key);
	return 0;
}

static int change_groups(const struct reading *reading, const struct group_list *list,
			 const bool *before)
{
	for (uint32_t i = 0; i < list->names.count; i++) {
		if (change_group(reading, list, i, before) != 0)
			return -1;
	}
	return 0;
}

/* Set the whole list. Groups that it does not name are not allowed; its line is their origin. */
static int allow_groups(const struct reading *reading)
{
	const struct group_list list = { "seccomp.allow",
					 node_texts(reading->said, "seccomp.allow"), true, "" };
	static const bool nothing[SECCOMP_GROUPS_MAX];

	if (list.names.count == 0)
		return reading_fail(reading, list.key, "empty; expected groups such as basic");
	memset(reading->profile->seccomp.is_allowed, 0, sizeof(nothing));
	for (uint32_t i = 0; i < seccomp_group_count(); i++)
		reading->profile->origins.groups[i] = reading_origin(reading, list.key);
	return change_groups(reading, &list, nothing);
}

static int change_parents_groups(const struct reading *reading)
{
	const struct group_list add = { "seccomp.add", node_texts(reading->said, "seccomp.add"),
					true, "is allowed already; expected one that is not" };
	const struct group_list remove = { "seccomp.remove",
					   node_texts(reading->said, "seccomp.remove"), false,
					   "is not allowed anyway; expected one that is" };
	const char *key = add.names.count > 0 ? add.key : remove.key;
	bool before[SECCOMP_GROUPS_MAX];

	if (add.names.count == 0 && remove.names.count == 0)
		return 0;
	if (reading_says(reading, "seccomp.allow"))
		return reading_fail(reading, key,
				    "changes what the parent allows, and seccomp.allow replaces "
				    "it; expected one of the two");
	if (reading->profile->parent == NULL)
		return reading_fail(reading, key,
				    "there is no parent to change; expected seccomp.allow, or a "
				    "profile to extend");
	memcpy(before, reading->profile->seccomp.is_allowed, sizeof(before));
	return change_groups(reading, &add, before) != 0 ? -1
							 : change_groups(reading, &remove, before);
}

static int refuse_call(const struct reading *reading, uint32_t index)
{
	const char *call = node_texts(reading->said, "seccomp.refuse").items[index];
	struct seccomp_policy *policy = &reading->profile->seccomp;
	const int group = seccomp_group_of(call);
	char key[KEY_MAX];

	(void)reading_key(key, "seccomp.refuse", index, "");
	if (group < 0)
		return reading_fail(reading, key,
				    "\"%s\" is not a system call of x86_64; expected a name such "
				    "as socket",
				    call);
	if (!policy->is_allowed[group])
		return reading_fail(reading, key,
				    "%s is not allowed anyway, its group is %s; expected a call of "
				    "a group that is",
				    call, seccomp_group_at((uint32_t)group)->name);
	if (seccomp_is_refused(policy, (uint32_t)seccomp_number(call)))
		return reading_fail(reading, key,
				    "%s is refused already; expected a call that is allowed", call);
	if (policy->refused_count == SECCOMP_CALLS_MAX)
		return reading_fail(reading, key, "too many; expected at most %u calls",
				    SECCOMP_CALLS_MAX);
	reading->profile->origins.refused[policy->refused_count] = reading_origin(reading, key);
	policy->refused[policy->refused_count++] = (uint32_t)seccomp_number(call);
	return 0;
}

int seccomp_apply(const struct reading *reading)
{
	if (reading_says(reading, "seccomp.allow") && allow_groups(reading) != 0)
		return -1;
	if (change_parents_groups(reading) != 0)
		return -1;
	for (uint32_t i = 0; i < reading_count(reading, "seccomp.refuse"); i++) {
		if (refuse_call(reading, i) != 0)
			return -1;
	}
	return 0;
}
