/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies a plan from stdin to stdout, in which the profile argv[1] is not observed: what its filter
 * refuses it answers with EPERM itself.
 */
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>

#include "common/plan/plan.h"

static union {
	uint64_t align;
	uint8_t bytes[PLAN_SIZE_MAX];
} blob;

/* The same record in the bytes that can be written. */
static void *writable(const void *record)
{
	return blob.bytes + ((const uint8_t *)record - blob.bytes);
}

int main(int argc, char **argv)
{
	const size_t size = fread(blob.bytes, 1, sizeof(blob.bytes), stdin);
	struct plan_profile *profile;
	struct sock_filter *filter;
	struct plan plan;
	uint32_t changed = 0;
	int index;

	if (argc != 2 || plan_open(blob.bytes, size, &plan) != 0)
		return 1;
	index = plan_profile_find(&plan, argv[1]);
	if (index < 0)
		return 1;
	profile = writable(plan_profile(&plan, (uint32_t)index));
	profile->observes = 0;
	filter = writable(plan_filter(&plan, profile));
	for (uint32_t i = 0; i < profile->filter_count; i++) {
		if (filter[i].code == (BPF_RET | BPF_K) && filter[i].k == SECCOMP_RET_USER_NOTIF) {
			filter[i].k = SECCOMP_RET_ERRNO | 1;
			changed++;
		}
	}
	return changed > 0 && fwrite(blob.bytes, 1, size, stdout) == size ? 0 : 1;
}
