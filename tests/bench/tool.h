/* SPDX-License-Identifier: Apache-2.0
 *
 * For the clients whose time is measured.
 */
#ifndef BENCH_TOOL_H
#define BENCH_TOOL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

#endif
