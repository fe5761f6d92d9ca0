/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan with one profile, made by hand, record by record.
 */
#ifndef UNIT_CHILD_INIT_HAND_PLAN_H
#define UNIT_CHILD_INIT_HAND_PLAN_H

#include "common/plan/plan.h"

#define HAND_MOUNTS 32
#define HAND_RULES 2
#define HAND_RLIMITS 4
#define HAND_FILTER 8
#define HAND_TEXT_ROOM 8192

/* The offsets in the plan are offsets in this struct. */
struct hand_plan {
	struct plan_header header;
	struct plan_profile profile;
	struct plan_mount mounts[HAND_MOUNTS];
	struct plan_rule rules[HAND_RULES];
	struct plan_rlimit rlimits[HAND_RLIMITS];
	struct sock_filter filter[HAND_FILTER];
	char text[HAND_TEXT_ROOM];
};

extern struct hand_plan hand_plan;

/* An empty plan, whose filter allows everything. */
void hand_plan_begin(void);

/* One more record; `source` may be NULL. What else it says is the caller's to fill. */
struct plan_mount *hand_plan_add(uint32_t kind, uint32_t phase, const char *target,
				 const char *source);

/* Put the record of an image before all others, which follow it in this phase if it is that of each
 * sandbox. The layers are a list, the highest first. */
void hand_plan_image(uint32_t phase, const char *layers, size_t size);

/* One more rule: all rights at the path. */
void hand_plan_allow(const char *path);

/* Its filter asks about sync(2) from now on. */
void hand_plan_ask_about_sync(void);

/* Check it and open it as `plan`. */
void hand_plan_open(struct plan *plan);

/* Put bytes into it; returns their offset. */
uint32_t hand_plan_put(const void *bytes, size_t size);

#endif
