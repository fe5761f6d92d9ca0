/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit log: what happened here, in records that cannot be changed one by one without being
 * seen (common/audit.h).
 *
 * What a record holds of a request are sizes and hashes: no argument, variable, code or output is
 * in it. An execution whose begin cannot be recorded does not begin, unless the operator's plan
 * says that it may. Of what happens then, records that cannot be written are counted, and the next
 * one that can says how many are missing.
 */
#ifndef SUPERVISOR_AUDIT_H
#define SUPERVISOR_AUDIT_H

#include "audit_line.h"
#include "request.h"
#include "state.h"

/* The log's directory, from the launcher. */
struct audit_place {
	int directory;              /* -1: there is none */
	char path[IPC_PATH_MAX];    /* for messages */
	char problem[IPC_LIST_MAX]; /* why there is none */
};

/* Take the place and record the start. Where that cannot be, ends the process with exit code 78,
 * or, where the plan accepts it, says that nothing is audited. After the plan is known, before
 * anything is forked. */
void audit_open(struct audit_place *place, uint32_t frontend);

/* Its directory, which stays its own; -1: nothing is audited. */
int audit_directory(void);

/* The plan that requests are judged by from now on, the generation `number` of this supervisor. 0,
 * or -errno: it could not be recorded, and must be; `detail` says why. */
int audit_policy(const struct plan *plan, uint32_t number, char detail[IPC_LIST_MAX]);

/* Record the measured posture of a profile's sandboxes. At most AUDIT_FIELDS_MAX - 1 fields. */
void audit_posture(const struct audit_field *fields, size_t count);

/* Record a client of the service: it asks for itself, or was handed over to a broker. */
void audit_client(const struct frontend *frontend);

/* Record the begin of an execution and set its number, request->id. -errno: it must not begin, and
 * `detail` says why. */
int audit_execution_begin(const struct frontend *frontend, struct request *request, int code,
			  char detail[IPC_LIST_MAX]);

/* Record the end of an execution as reported to its frontend; `sandbox` is its sandbox, or NULL. A
 * limit that it met is a record of its own. */
void audit_execution_end(uint64_t id, const struct sandbox *sandbox,
			 const struct ipc_execution_done *done);

/* Record a denial, met `count` times: the layer, the operation, and a number for its argument. */
void audit_denial(const struct execution *execution, const char *layer, const char *operation,
		  uint64_t argument, uint32_t count);

/* A sandbox that lasts was made: a fork of `origin`, or (NULL) a new one. It was changed:
 * `operation` is "save", "rollback", "delete" or "stop". And it is gone: `why` is "destroyed",
 * "expired" or "damaged". `checkpoint` is its number in the sandbox that it is of, 0: none. */
void audit_sandbox_begin(const struct frontend *frontend, const char *id,
			 const struct store_meta *meta, const char *origin, uint32_t checkpoint);
void audit_sandbox_change(const struct frontend *frontend, const char *id, const char *operation,
			  uint32_t checkpoint);
void audit_sandbox_end(const char *id, const char *why);

/* Record that an interpreter ended before a request took it: its start met its limit, for one. */
void audit_standby_end(const struct sandbox *sandbox, const struct ipc_spawn_done *done);

/* Record that an apply of a sandbox's changes to the host, or its undo, begins. -errno: it must not
 * begin, and `detail` says why. audit_apply_end() records its result. */
int audit_apply_begin(const struct frontend *frontend, const char *id,
		      const struct ipc_changes_start *from, char detail[IPC_LIST_MAX]);
void audit_apply_end(const char *id, const struct ipc_changes_done *done);

/* Record a refused request. */
void audit_refused(const struct frontend *frontend, enum refusal reason);

/* Record that a peer of ours broke the protocol: "frontend", "factory" or "init", with its number.
 */
void audit_violation(const char *peer, uint64_t number, const char *problem);

/* Record that another user connected to the service. */
void audit_stranger(uid_t uid);

/* Record the end of the supervisor. */
void audit_stop(void);

#endif
