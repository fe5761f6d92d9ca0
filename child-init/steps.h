/* SPDX-License-Identifier: Apache-2.0
 *
 * The columns of steps.def.
 */
#ifndef CHILD_INIT_STEPS_H
#define CHILD_INIT_STEPS_H

#include <stdint.h>

/* The processes that a row of STANDBY or RESUME is for. */
enum who { EACH, WORKLOAD, PROBE };

enum when {
	ALWAYS,
	IF_OBSERVED, /* the filter has a listener */
	IF_UNOBSERVED,
	IF_FILTERED_STANDBY, /* in a standby process: the filter allows every step of RESUME */
	IF_FILTERED_LAST,
};

/* A row: a function that returns 0 or -errno, and the stage that its failure is reported as. */
struct step {
	int (*run)(void);
	uint32_t stage;
	uint16_t who, when; /* the enums: a step takes sixteen bytes */
};

/* The rows of a list, and how many these are. */
#define STEPS(list) (list), sizeof(list) / sizeof((list)[0])

#endif
