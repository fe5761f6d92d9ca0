/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages from the launcher to a starting supervisor, and between the supervisor and the path
 * opener, the part of the launcher that stays.
 */
#ifndef COMMON_IPC_IPC_START_H
#define COMMON_IPC_IPC_START_H

#include "common/ipc/ipc_message.h"

/* clang-format off */

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
IPC_MESSAGE(supervisor_start,
	(RAW, schema, IPC_SCHEMA_BYTES),
	(U32, frontend), /* enum frontend_mode */
	(U32, limits), /* enum limits_mode that the operator accepts */
	(U32, executions), /* most at once, 1 to EXECUTIONS_MAX */
	(U64, memory_bytes), /* most that all sandboxes together may use; 0: no such limit */
	(OPT, default_profile, IPC_NAME_MAX)); /* if a request names none; empty: the plan's */

/* fd: a cgroup v2 directory with cpu, memory and pids enabled for its children, ours to fill */
IPC_MESSAGE(supervisor_cgroup, (U32, has_io)); /* 1: io is enabled too */

/* fd: O_PATH of what the record's `source` named when the launcher checked it */
IPC_MESSAGE(supervisor_pin,
	(U32, profile), /* index in the blob */
	(U32, mount));  /* index in the profile */

/* fd: channel to an msp-audit that has the audit log's directory, ours alone */
IPC_MESSAGE(supervisor_audit, (STR, path, IPC_PATH_MAX)); /* the directory's, for messages */

/* There is none. */
IPC_MESSAGE(supervisor_unaudited, (STR, problem, IPC_LIST_MAX)); /* why, as a phrase */

/* fd: a channel to msp-store, which has the state directory */
IPC_MESSAGE(supervisor_state, (U32, reserved));

/* fd: msp-file, after supervisor_state; without it there are no file tools */
IPC_MESSAGE(supervisor_file, (U32, reserved));

/* There is none, so that no sandbox lasts. */
IPC_MESSAGE(supervisor_stateless, (STR, problem, IPC_LIST_MAX)); /* why, as a phrase */

/* fd: a channel of its own to the part of the launcher that stays, where the launcher itself goes
 * on as the frontend */
IPC_MESSAGE(supervisor_opener, (U32, reserved));

/* fds: a channel to msp-cable, if a profile has hosts; and the counters of its refusals
 * (counters.h). Where a part of the launcher stays, it also comes later: when a new policy needs
 * the gateway, or another was started for one that ended. */
IPC_MESSAGE(supervisor_gateway, (U32, is_offline)); /* 1: it began where no network was */

/* fd: the service's listening SOCK_SEQPACKET socket */
IPC_MESSAGE(supervisor_listen,
	(U32, is_activated)); /* 1: the service manager made it, and keeps it after us */

/* fd: a datagram socket connected to the service manager, for sd_notify(3)'s messages */
IPC_MESSAGE(supervisor_notify,
	(U64, watchdog_us)); /* it expects to hear from us this often; 0: it does not */

/* The launcher said everything: start. */
IPC_MESSAGE(supervisor_run,
	(U32, pins), /* how many supervisor_pin came before */
	(U32, is_expected), /* 1: an execution of the launcher's is the next thing, and all */
	(OPT, profile, IPC_NAME_MAX)); /* the execution's; empty: the default one */

/* The operator's file may have changed: compile it again. One of the next two answers. */
IPC_MESSAGE(policy_ask, (U32, generation)); /* the one in force, counted from 1 */

/* fd: sealed policy blob */
IPC_MESSAGE(policy_new,
	(U32, generation), /* the question's */
	(U32, pins));      /* how many supervisor_pin for it came before */

/* The operator's file is wrong: an explanation for the operator. */
IPC_MESSAGE(policy_bad, (STR, text, IPC_LIST_MAX));

/* fd: O_PATH of a directory. For the next workspace_ask, which is no person's: the client's own, as
 * in client_workspace. Without any: those that this launcher was started with. */
IPC_MESSAGE(workspace_within, (U32, is_start));

/* Open a directory of the host that a sandbox shall work on, if the policy lets it: it meets
 * nothing protected, and lies in a workspace. One of the next two answers. */
IPC_MESSAGE(workspace_ask,
	(U32, number),     /* the question's */
	(U32, generation), /* the policy's in force */
	/* 1: a person named it; else a model may have: what is open to it without the operator's
	 * word is the directory msp was started in */
	(U32, is_person),
	(STR, path, IPC_PATH_MAX));

/* fds: O_PATH of it; sealed: absolute paths, NUL after each, that may lead to a file in it which
 * the host's git executes or obeys (the directory itself among them: any file may), and records
 * that limits.h describes; O_PATH of git's data that lies outside, or the directory again. */
IPC_MESSAGE(workspace_open,
	(U32, number),
	(U32, has_git), /* 0: none is shown */
	(STR, path, IPC_PATH_MAX)); /* canonical */

IPC_MESSAGE(workspace_bad,
	(U32, number),
	(STR, text, IPC_LIST_MAX)); /* the path, the rule and what helps */

/* clang-format on */

#endif
