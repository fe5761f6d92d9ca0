/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages from the launcher to a starting supervisor, and between the supervisor and the path
 * opener, the part of the launcher that stays.
 */
#ifndef COMMON_IPC_START_H
#define COMMON_IPC_START_H

#include <stdint.h>

#include "common/limits.h"

enum frontend_mode {
	FRONTEND_BROKER = 1, /* start msp-broker on the supervisor's descriptors 0 and 1 */
	FRONTEND_LAUNCHER,   /* the launcher itself goes on as the frontend */
	FRONTEND_SERVICE,    /* many: each connection to the socket of supervisor_listen */
};

/* The descriptors that the supervisor is executed with, beside its standard ones. The launcher
 * started the factory before, as a child of the process that becomes the supervisor. */
enum start_fd {
	START_FD_LAUNCHER = 3,  /* channel */
	START_FD_FACTORY,       /* channel, of which this process made both ends */
	START_FD_FACTORY_PIDFD, /* the factory's */
	START_FD_END,
};

/* The first message. fd: sealed policy blob */
struct ipc_supervisor_start {
	uint8_t schema[IPC_SCHEMA_BYTES];
	uint32_t frontend;     /* enum frontend_mode */
	uint32_t limits;       /* enum limits_mode that the operator accepts */
	uint32_t executions;   /* most at once, 1 to EXECUTIONS_MAX */
	uint64_t memory_bytes; /* most that all sandboxes together may use; 0: no such limit */
	char default_profile[IPC_NAME_MAX]; /* if a request names none; empty: the plan's */
};

/* fd: a cgroup v2 directory with cpu, memory and pids enabled for its children, ours to fill */
struct ipc_supervisor_cgroup {
	uint32_t has_io; /* 1: io is enabled too */
};

/* fd: O_PATH of what the record's `source` named when the launcher checked it */
struct ipc_supervisor_pin {
	uint32_t profile; /* index in the blob */
	uint32_t mount;   /* index in the profile */
};

/* fd: channel to an msp-audit that has the audit log's directory, ours alone */
struct ipc_supervisor_audit {
	char path[IPC_PATH_MAX]; /* the directory's, for messages */
};

/* There is none. */
struct ipc_supervisor_unaudited {
	char problem[IPC_LIST_MAX]; /* why, as a phrase */
};

/* fd: a channel to msp-store, which has the state directory */
struct ipc_supervisor_state {
	uint32_t reserved;
};

/* fd: msp-file, after supervisor_state; without it there are no file tools */
struct ipc_supervisor_file {
	uint32_t reserved;
};

/* There is none, so that no sandbox lasts. */
struct ipc_supervisor_stateless {
	char problem[IPC_LIST_MAX]; /* why, as a phrase */
};

/* fd: a channel of its own to the part of the launcher that stays, where the launcher itself goes
 * on as the frontend */
struct ipc_supervisor_opener {
	uint32_t reserved;
};

/* fds: a channel to msp-cable, if a profile has hosts; and the counters of its refusals
 * (counters.h). Where a part of the launcher stays, it also comes later: when a new policy needs
 * the gateway, or another was started for one that ended. */
struct ipc_supervisor_gateway {
	uint32_t reserved;
};

/* fd: the service's listening SOCK_SEQPACKET socket */
struct ipc_supervisor_listen {
	uint32_t is_activated; /* 1: the service manager made it, and keeps it after us */
};

/* fd: a datagram socket connected to the service manager, for sd_notify(3)'s messages */
struct ipc_supervisor_notify {
	uint64_t watchdog_us; /* it expects to hear from us this often; 0: it does not */
};

/* The launcher said everything: start. */
struct ipc_supervisor_run {
	uint32_t pins;        /* how many supervisor_pin came before */
	uint32_t is_expected; /* 1: an execution of the launcher's is the next thing, and all */
	char profile[IPC_NAME_MAX]; /* the execution's; empty: the default one */
};

/* The operator's file may have changed: compile it again. One of the next two answers. */
struct ipc_policy_ask {
	uint32_t generation; /* the one in force, counted from 1 */
};

/* fd: sealed policy blob */
struct ipc_policy_new {
	uint32_t generation; /* the question's */
	uint32_t pins;       /* how many supervisor_pin for it came before */
};

/* The operator's file is wrong: an explanation for the operator. */
struct ipc_policy_bad {
	char text[IPC_LIST_MAX];
};

/* fd: O_PATH of a directory. For the next workspace_ask, which is no person's: the client's own, as
 * in client_workspace. Without any: those that this launcher was started with. */
struct ipc_workspace_within {
	uint32_t is_start;
};

/* Open a directory of the host that a sandbox shall work on, if the policy lets it: it meets
 * nothing protected, and lies in a workspace. One of the next two answers. */
struct ipc_workspace_ask {
	uint32_t number;     /* the question's */
	uint32_t generation; /* the policy's in force */
	uint32_t is_person;  /* 1: a person named it; else a model may have: what is open to it
			      * without the operator's word is the directory msp was started in */
	char path[IPC_PATH_MAX];
};

/* fds: O_PATH of it; sealed: absolute paths, NUL after each, that may lead to a file in it which
 * the host's git executes or obeys. The directory itself among them: any file may. */
struct ipc_workspace_open {
	uint32_t number;
	char path[IPC_PATH_MAX]; /* canonical */
};

struct ipc_workspace_bad {
	uint32_t number;
	char text[IPC_LIST_MAX]; /* the path, the rule and what helps */
};

#endif
