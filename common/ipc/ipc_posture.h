/* SPDX-License-Identifier: Apache-2.0
 *
 * The posture, what is in force around workloads, as processes tell each other.
 */
#ifndef COMMON_IPC_IPC_POSTURE_H
#define COMMON_IPC_IPC_POSTURE_H

#include "common/ipc/ipc_message.h"

/* clang-format off */

/* The part of a profile's posture that a probe measured in a sandbox. */
struct ipc_posture_measured {
	uint32_t landlock_abi;
	uint32_t namespaces;  /* the sandbox's own: a bit for each enum posture_namespace */
	uint64_t landlock_fs; /* this and the next two: the rights and scopes that are handled */
	uint64_t landlock_net;
	uint64_t landlock_scopes;
	uint32_t layers_closed;  /* POSTURE_BIT() each: the act against it was tried and refused */
	uint32_t layers_untried; /* the profile does without it, or allows what would be tried */
	uint32_t error; /* answer to the act against the first layer in neither set; 0: it worked */
	uint32_t reserved;
};

/* The whole posture, with the supervisor's part. */
struct ipc_posture_full {
	uint32_t
		is_measured; /* 0: none of its sandboxes was probed yet, and nothing below is set */
	uint32_t limits;     /* enum limits_mode in force */
	uint32_t controllers;  /* the sandbox cgroup's: enum posture_controller as bits */
	uint32_t seccomp_mode; /* as prctl(2) has it: 2 with a filter */
	uint8_t filter_hash[IPC_SCHEMA_BYTES]; /* SHA-256 of the system call filter */
	struct ipc_posture_measured measured;
};

/* Before the end of the frontend's first execution in a profile whose posture the welcome did not
 * say. */
IPC_MESSAGE(profile_posture, (STR, profile, IPC_NAME_MAX), (STRUCT, posture, ipc_posture_full));

/* The posture that a spawn with a probe has measured, before any other message about it. */
IPC_MESSAGE(posture, (U32, slot), (STRUCT, measured, ipc_posture_measured));

/* clang-format on */

#endif
