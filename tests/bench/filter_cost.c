/* SPDX-License-Identifier: Apache-2.0
 *
 * filter_cost PROFILE CALLS <builtin.policy: nanoseconds that a system call takes under the filter
 * of a profile; `-` is none. Prints the filter's instructions, then two times:
 *
 *   getppid   allowed whatever its arguments: the kernel remembers that and does not run the filter
 *   prctl     allowed for some arguments: the filter runs, to the bottom of its tree and through
 * the call's conditions
 *
 * Both do next to nothing themselves. bench.py compiles it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/confine/seccomp.h"
#include "common/plan/plan.h"

#define RUN 1000L

static double now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* fails for no clock that exists */
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The least of many short runs: what the machine does beside them is in some, not in all. */
static double time_of(long number, long argument, long calls)
{
	double least = 0;

	for (long done = 0; done < calls; done += RUN) {
		const double start = now_ns();
		double time;

		for (long i = 0; i < RUN; i++)
			(void)syscall(number, argument, 0, 0, 0, 0); /* the time is the result */
		time = (now_ns() - start) / RUN;
		least = done == 0 || time < least ? time : least;
	}
	return least;
}

int main(int argc, char **argv)
{
	const struct plan_profile *profile;
	struct plan plan;
	uint32_t count = 0;
	long calls;
	int index;

	if (argc != 3 || (calls = strtol(argv[2], NULL, 10)) < 1 ||
	    plan_open_fd(STDIN_FILENO, &plan) != 0)
		return 1;
	if (strcmp(argv[1], "-") != 0) {
		index = plan_profile_find(&plan, argv[1]);
		if (index < 0)
			return 2;
		profile = plan_profile(&plan, (uint32_t)index);
		count = profile->filter_count;
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    seccomp_install(plan_filter(&plan, profile), count) != 0)
			return 3;
	}
	(void)printf("%u %.1f %.1f\n", count, time_of(SYS_getppid, 0, calls),
		     time_of(SYS_prctl, PR_GET_DUMPABLE, calls));
	return 0;
}
