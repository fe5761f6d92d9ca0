/* SPDX-License-Identifier: Apache-2.0
 *
 * filter PROFILE <builtin.policy >program: writes a profile's system call filter, so that bwrap can
 * be measured with the same one. bench.py compiles it.
 */
#include <stdio.h>
#include <unistd.h>

#include "common/plan/plan.h"

int main(int argc, char **argv)
{
	struct plan plan;
	const struct plan_profile *profile;
	size_t size;
	int index;

	if (argc != 2 || plan_open_fd(STDIN_FILENO, &plan) != 0)
		return 1;
	index = plan_profile_find(&plan, argv[1]);
	if (index < 0)
		return 2;
	profile = plan_profile(&plan, (uint32_t)index);
	size = profile->filter_count * sizeof(struct sock_filter);
	return write(STDOUT_FILENO, plan_filter(&plan, profile), size) == (ssize_t)size ? 0 : 3;
}
