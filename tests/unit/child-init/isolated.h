/* SPDX-License-Identifier: Apache-2.0
 *
 * Acts in namespaces of their own. An act runs in a forked child, where the test's assertions
 * cannot be used: it checks with CHECK(), which says what is wrong on stderr and ends the act.
 */
#ifndef UNIT_CHILD_INIT_ISOLATED_H
#define UNIT_CHILD_INIT_ISOLATED_H

#include <stdbool.h>

/* What an act returns, and what is returned where the namespaces cannot be made. */
#define ACT_PASSED 0
#define ACT_FAILED 1
#define ACT_UNPREPARED 99

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			return isolated_fail(__FILE__, __LINE__, #condition);                      \
	} while (0)

/* Say so, with errno; returns ACT_FAILED. */
int isolated_fail(const char *file, int line, const char *condition);

/*
 * Run an act in new namespaces (CLONE_NEW...), with the caller's ids as their only ones. With a
 * pid namespace the act is its PID 1. Returns what the act returned; 128+N when a signal ended it.
 */
int isolated_run(int namespaces, int (*act)(void *), void *argument);

/* The same from a test: fails when the act did, skips where there are no such namespaces. */
void isolated_test(int namespaces, int (*act)(void *), void *argument);

#endif
