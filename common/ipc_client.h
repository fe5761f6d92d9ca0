/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between frontends and the supervisor: of a client of the service, and of a frontend
 * that begins and ends.
 */
#ifndef COMMON_IPC_CLIENT_H
#define COMMON_IPC_CLIENT_H

#include <stdint.h>

#include "common/ipc_posture.h"
#include "common/limits.h"

/* fd: O_PATH of a directory that the client's requests may name, or lie in. Before client_start, at
 * most CLIENT_WORKSPACES_MAX. */
struct ipc_client_workspace {
	uint32_t is_start; /* 1: only the one that msp was started in; nobody named it */
};

/* fds: the client's stdin, stdout, stderr. Nothing of them is used before client_started. */
struct ipc_client_start {
	uint8_t schema[IPC_SCHEMA_BYTES];
	uint32_t limits; /* enum limits_mode that the client's operator accepts */
};

struct ipc_client_started {
	uint32_t limits; /* enum limits_mode in force */
};

struct ipc_client_end {
	uint32_t reason; /* enum client_end_reason */
};

struct ipc_status_ask {
	uint8_t schema[IPC_SCHEMA_BYTES];
};

struct ipc_status {
	uint32_t pid; /* the supervisor's */
	uint32_t landlock_abi;
	uint32_t limits; /* enum limits_mode in force */
	uint32_t clients;
	uint32_t clients_max;
	uint32_t executions; /* alive now */
	uint32_t executions_max;
	uint64_t executions_started; /* since the start */
	uint64_t executions_refused; /* for want of room, since the start */
	uint64_t memory_bytes;       /* used by all sandboxes now; 0 where it cannot be told */
	uint64_t memory_max_bytes;   /* 0: no limit for all together */
	uint32_t generation;         /* the policy's, counted from 1 */
	uint32_t reload_failed;      /* 1: the operator's file has changed, and cannot be used */
	uint64_t uptime_us;
	struct ipc_posture_full posture; /* the default profile's */
};

struct ipc_hello {
	uint8_t schema[IPC_SCHEMA_BYTES];
	uint32_t limits; /* enum limits_mode that is accepted; else client_end is the answer */
};

/* The offer of a policy to its clients, beside the profiles, which the plan has. */
struct ipc_offer {
	char default_profile[IPC_NAME_MAX];
	uint32_t languages_size;
	uint8_t languages[IPC_LIST_MAX]; /* installed ones of the default profile: names with a NUL
					  * after each */
};

/* fd: the sealed plan; what it says of helpers' profiles is not for clients. With it the posture,
 * as measured. */
struct ipc_welcome {
	uint8_t schema[IPC_SCHEMA_BYTES];
	uint32_t landlock_abi;
	uint32_t limits;         /* enum limits_mode in force */
	uint32_t executions_max; /* alive at once, of all frontends */
	uint32_t is_service;     /* the user's service: commands of a person reach it */
	struct ipc_offer offer;
	char posture_profile[IPC_NAME_MAX]; /* the default profile's; empty: not measured yet */
	struct ipc_posture_full posture;
};

/* A broker's last word: its end is none of a crash. */
struct ipc_goodbye {
	uint32_t exit_code;
};

/* fd: the sealed plan that holds for what is asked from now on; the rest as in the welcome. */
struct ipc_policy_changed {
	uint32_t generation; /* counted from 1 */
	struct ipc_offer offer;
};

#endif
