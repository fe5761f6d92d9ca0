/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of groups and of their calls.
 */
#include "policy/read/seccomp_groups.h"

#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

static const struct seccomp_group groups[] = {
#define GROUP(name, kind, reason, calls) { #name, SECCOMP_##kind, reason, calls },
#include "policy/read/seccomp_groups.def"
#undef GROUP
};
#define GROUP_COUNT (sizeof(groups) / sizeof(groups[0]))

_Static_assert(GROUP_COUNT <= SECCOMP_GROUPS_MAX, "raise SECCOMP_GROUPS_MAX");

uint32_t seccomp_group_count(void)
{
	return GROUP_COUNT;
}

const struct seccomp_group *seccomp_group_at(uint32_t index)
{
	return &groups[index];
}

int seccomp_group_find(const char *name)
{
	for (uint32_t i = 0; i < GROUP_COUNT; i++) {
		if (strcmp(groups[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

bool seccomp_next_call(const char **calls, char name[32])
{
	const char *start = *calls + strspn(*calls, " ");
	const size_t length = strcspn(start, " ");

	if (length == 0 || length > 31)
		return false;
	memcpy(name, start, length);
	name[length] = '\0';
	*calls = start + length;
	return true;
}

int seccomp_number(const char *name)
{
	const int number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, name);

	return number < 0 ? -1 : number;
}

/* All calls, for every policy. Built once: finding the numbers is most of the work. */
static struct {
	uint32_t count; /* 0: not built */
	struct seccomp_call calls[SECCOMP_CALLS_MAX];
} table;

static int compare_calls(const void *left, const void *right)
{
	const struct seccomp_call *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

/* Add a group's calls. A name that the library does not know is a fault in the table. */
static bool add_group(uint32_t group, uint32_t *count)
{
	const char *calls = groups[group].calls;
	struct seccomp_call call = { .group = group };

	while (seccomp_next_call(&calls, call.name)) {
		const int number = seccomp_number(call.name);

		if (number < 0 || *count == SECCOMP_CALLS_MAX)
			return false;
		call.number = (uint32_t)number;
		table.calls[(*count)++] = call;
	}
	return true;
}

const struct seccomp_call *seccomp_calls(uint32_t *ret_count)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < GROUP_COUNT && table.count == 0; i++) {
		if (!add_group(i, &count))
			return NULL;
	}
	if (table.count == 0) {
		qsort(table.calls, count, sizeof(table.calls[0]), compare_calls);
		table.count = count;
	}
	*ret_count = table.count;
	return table.calls;
}

void seccomp_call_name(uint32_t number, char ret[32])
{
	uint32_t count = 0;
	const struct seccomp_call *calls = seccomp_calls(&count);

	ret[0] = '\0';
	for (uint32_t i = 0; i < count; i++) {
		if (calls[i].number == number)
			memcpy(ret, calls[i].name, sizeof(calls[i].name));
	}
}

int seccomp_group_of(const char *call)
{
	uint32_t count = 0;
	const struct seccomp_call *calls = seccomp_calls(&count);

	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(calls[i].name, call) == 0)
			return (int)calls[i].group;
	}
	return -1;
}

bool seccomp_is_refused(const struct seccomp_policy *policy, uint32_t number)
{
	for (uint32_t i = 0; i < policy->refused_count; i++) {
		if (policy->refused[i] == number)
			return true;
	}
	return false;
}

/* Owners of files, and ids of the process. A call that is refused by name is not pretended. */
bool seccomp_is_pretended(const struct seccomp_policy *policy, uint32_t number)
{
	const char *calls = "chown fchown lchown fchownat setuid setgid setreuid setregid "
			    "setresuid setresgid setgroups setfsuid setfsgid";
	char name[32];

	if (!policy->pretends_ownership || seccomp_is_refused(policy, number))
		return false;
	while (seccomp_next_call(&calls, name)) {
		if (seccomp_number(name) == (int)number)
			return true;
	}
	return false;
}

uint32_t seccomp_allowed_count(const struct seccomp_policy *policy)
{
	uint32_t count = 0, allowed = 0;
	const struct seccomp_call *calls = seccomp_calls(&count);

	for (uint32_t i = 0; i < count; i++) {
		allowed += policy->is_allowed[calls[i].group] &&
			   !seccomp_is_refused(policy, calls[i].number) &&
			   !seccomp_is_pretended(policy, calls[i].number);
	}
	return allowed;
}
