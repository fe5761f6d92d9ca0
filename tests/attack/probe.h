/* SPDX-License-Identifier: Apache-2.0
 *
 * The acts of a hostile workload. An act tries one thing and says how it went; what should have
 * happened is the business of the test that started it.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stddef.h>
#include <sys/syscall.h>

/* What an act returns beside a positive errno: refused with it. */
#define SUCCEEDED 0
#define UNPREPARED (-1) /* something needed before the act itself failed */

struct act {
	const char *name;
	int (*run)(char **arguments); /* what followed the name, ended by NULL */
};

struct acts {
	const struct act *list;
	size_t count;
};

#define ACTS(list)                                                                                 \
	{                                                                                          \
		(list), sizeof(list) / sizeof((list)[0])                                           \
	}

extern const struct acts call_acts;
extern const struct acts call_32bit_acts;
extern const struct acts file_acts;
extern const struct acts interface_acts;
extern const struct acts network_acts;
extern const struct acts posture_acts;
extern const struct acts process_acts;
extern const struct acts sight_acts;

/* The errno of a call that failed, SUCCEEDED otherwise. */
int outcome(long result);

/* Run `act` in a child; a child killed by a signal gives UNPREPARED. */
int outcome_in_child(int (*act)(char **), char **arguments);

/* The argument as a number; ends the program when there is none. */
long number_of(char **arguments);

#endif
