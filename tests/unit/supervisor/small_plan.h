/* SPDX-License-Identifier: Apache-2.0
 *
 * A small plan for the supervisor's tests: the profiles "default", "strict" and "_helper". It stays
 * changeable, so that a test can ask "and with that number?".
 */
#ifndef UNIT_SUPERVISOR_SMALL_PLAN_H
#define UNIT_SUPERVISOR_SMALL_PLAN_H

#include "common/plan/plan.h"

#define SMALL_PROFILES 3
#define SMALL_LANGUAGES 6
#define SMALL_MOUNTS 2
#define SMALL_TEXT_ROOM 8192

/* The offsets in the plan are offsets in this struct. */
struct small_plan {
	struct plan_header header;
	struct plan_profile profiles[SMALL_PROFILES];
	struct plan_language languages[SMALL_LANGUAGES];
	struct plan_mount mounts[SMALL_MOUNTS]; /* of "default": two places that last */
	struct sock_filter filter[1];
	char text[SMALL_TEXT_ROOM];
};

extern struct small_plan small_plan;

/* A program that every machine has, and one that none has. */
#define SMALL_PRESENT "/bin/sh"
#define SMALL_ABSENT "/nonexistent/program"

/* Fill it and open it as `plan`. */
void small_plan_open(struct plan *plan);

/* Put bytes into it; returns their offset. */
uint32_t small_plan_put(const void *bytes, size_t size);

#endif
