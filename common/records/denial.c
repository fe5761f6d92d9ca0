/* SPDX-License-Identifier: Apache-2.0 */
#include "common/records/denial.h"

#include <string.h>

static uint32_t count_of(const struct denials *denials)
{
	return denials->size / (uint32_t)sizeof(denials->records[0]);
}

static struct denial *find_denial(struct denials *denials, const struct denial *wanted)
{
	for (uint32_t i = 0; i < count_of(denials); i++) {
		struct denial *record = &denials->records[i];

		if (record->layer == wanted->layer && record->number == wanted->number &&
		    record->argument == wanted->argument)
			return record;
	}
	return NULL;
}

static uint32_t kinds_of_calls(const struct denials *denials)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < count_of(denials); i++)
		count += denials->records[i].layer == DENIAL_SECCOMP;
	return count;
}

void denials_add(struct denials *denials, struct denial denial)
{
	struct denial *record = find_denial(denials, &denial);

	if (!record && denial.layer == DENIAL_SECCOMP &&
	    kinds_of_calls(denials) == DENIAL_KINDS_MAX) {
		denial.layer = DENIAL_OTHER;
		denial.number = 0;
		denial.argument = 0;
		record = find_denial(denials, &denial);
	}
	if (record) {
		if (__builtin_add_overflow(record->count, denial.count, &record->count))
			record->count = UINT32_MAX;
	} else if (count_of(denials) < DENIALS_MAX) {
		denials->records[count_of(denials)] = denial;
		denials->size += (uint32_t)sizeof(denial);
	}
}

void denials_add_call(struct denials *denials, const struct plan *plan,
		      const struct plan_profile *profile, const struct seccomp_notif *call)
{
	struct denial denial = { .layer = DENIAL_SECCOMP,
				 .number = (uint32_t)call->data.nr,
				 .count = 1,
				 .pid = call->pid };
	const struct plan_call *known = plan_call_find(plan, denial.number);

	/* Every argument in the conditions is an int or shorter: the kernel ignores the rest. */
	if (known && plan_answer_to(plan, profile, known) == PLAN_CONDITIONAL)
		denial.argument = (uint32_t)call->data.args[known->argument];
	denials_add(denials, denial);
}

bool denials_take(struct denials *denials, const uint8_t *bytes, uint32_t size)
{
	denials->size = 0;
	if (size % sizeof(denials->records[0]) != 0 || size > sizeof(denials->records))
		return false;
	memcpy(denials->records, bytes, size);
	for (uint32_t i = 0; i < size / sizeof(denials->records[0]); i++) {
		if (denials->records[i].layer >= DENIAL_COUNT || denials->records[i].count == 0)
			return false;
	}
	denials->size = size;
	return true;
}
