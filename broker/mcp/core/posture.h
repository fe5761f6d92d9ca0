/* SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor's welcome: how limits are enforced, and which languages exist.
 */
#ifndef BROKER_MCP_CORE_POSTURE_H
#define BROKER_MCP_CORE_POSTURE_H

#include "common/limits.h"
#include "common/plan/plan.h"
#include "frontend/profile_names.h"

struct ipc_policy_changed;
struct ipc_posture_full;
struct ipc_welcome;
struct posture_measured;

struct posture {
	uint32_t landlock_abi;
	uint32_t limits;                  /* enum limits_mode */
	bool is_service;                  /* the user's service: their commands reach it */
	bool has_hosts;                   /* a profile of the plan has */
	char profiles[2 * IPC_LIST_MAX];  /* the plan's: "default, strict" */
	char languages[2 * IPC_LIST_MAX]; /* "python, bash"; empty: none */
	char profile[IPC_NAME_MAX];       /* the default profile */
	uint32_t measured_count;
	struct posture_measured *measured; /* by profile; posture_done() frees them */
};

void posture_from_welcome(const struct ipc_welcome *welcome, struct posture *ret);

/* Take what a changed policy says. */
void posture_change_policy(struct posture *posture, const struct ipc_policy_changed *changed);

/* Free the measurements. */
void posture_done(struct posture *posture);

/* Take the measurements of a sandbox of this profile. */
void posture_learn(struct posture *posture, const char *profile, const struct ipc_posture_full *is);

/* Return the measurements of a profile; NULL: none. */
const struct ipc_posture_full *posture_find(const struct posture *posture, const char *profile);

#endif
