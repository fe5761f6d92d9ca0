/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit log: what happened here, in records that cannot be changed one by one without being
 * seen (common/records/audit.h). msp-audit writes them; this file says what is in each.
 *
 * What a record holds of a request are sizes and hashes: no variable, code or output is in it, and
 * an argument only where the operator's plan wants the words of commands. An execution whose begin
 * cannot be recorded does not begin, unless the operator's plan says that it may: its request is
 * deferred until msp-audit has answered. A record of what has happened wants no answer: msp-audit
 * keeps it until it can be written.
 */
#ifndef SUPERVISOR_BASE_AUDIT_H
#define SUPERVISOR_BASE_AUDIT_H

#include "base/state.h"
#include "common/ipc/audit_record.h"
#include "common/ipc/refusal.h"
#include "run/request.h"

struct ipc_changes_done;
struct ipc_changes_start;
struct ipc_execution_done;
struct ipc_spawn_done;

/* The log's directory, from the launcher. */
struct audit_place {
	int channel;                /* to an msp-audit; -1: there is none */
	char path[IPC_PATH_MAX];    /* the directory's, for messages */
	char problem[IPC_LIST_MAX]; /* why there is none */
};

/* Take the place and ask for the record of the start; a launcher that may only list things gets it
 * with its first other record. Where that cannot be, ends the process with exit code 78, or, where
 * the plan accepts it, says that nothing is audited. After the plan is known, before anything is
 * forked. */
void audit_open(struct audit_place *place, uint32_t frontend);

/* Wait for the record of the start. In the event loop, call back with each answer to a ticket from
 * then on. A record that cannot be written has the effect that audit_open() has without a place. */
void audit_await_start(void (*on_answer)(uint64_t number, int error));

/* The record that a request needs before it is carried out. Zeroed: none was asked for. */
struct audit_ticket {
	enum {
		AUDIT_TICKET_NONE,
		AUDIT_TICKET_ASKED,
		AUDIT_TICKET_WRITTEN,
		AUDIT_TICKET_REFUSED
	} state;
	uint64_t number; /* the answer's */
	int error;       /* REFUSED: -errno */
	uint64_t execution;
	uint64_t request; /* this and `sandbox`: of an apply */
	char sandbox[IPC_ID_MAX];
};

/* Record the end of a request that is given up although its begin was or will be recorded. */
void audit_drop(struct audit_ticket *ticket);

/* Record that a new plan judges requests from now on, the generation `number` of this supervisor.
 * 0, or -errno: it could not be recorded, and must be; `detail` says why. */
int audit_policy(const struct plan *plan, uint32_t number, char detail[IPC_LIST_MAX]);

/* The last line of a supervisor that may not start without a log: a problem and its remedies. */
#define AUDIT_NO_LOG                                                                               \
	"nothing could be audited: %s. MSP_STATE_DIR=DIR names another place (msp(1)), and "       \
	"'audit: optional' in the operator's configuration does without"

/* Record what has happened anyway. At most IPC_AUDIT_FIELDS_MAX fields. */
void audit_note(enum audit_event event, const struct audit_field *fields, size_t count);

#define AUDIT_NOTE(event, ...)                                                                     \
	do {                                                                                       \
		const struct audit_field fields[] = { __VA_ARGS__ };                               \
		audit_note((event), fields, sizeof(fields) / sizeof(fields[0]));                   \
	} while (0)

/* Record a client of the service: it asks for itself, or was handed over to a broker. */
void audit_client(const struct frontend *frontend);

/* Record the begin of an execution and set its number, request->id. -EINPROGRESS: defer the request
 * with its ticket, and call again when the answer is there. Another -errno: it must not begin, and
 * `detail` says why. */
int audit_execution_begin(const struct frontend *frontend, struct request *request, int code,
			  struct audit_ticket *ticket, char detail[IPC_LIST_MAX]);

/* Record the end of an execution as reported to its frontend; `sandbox` is its sandbox, or NULL. A
 * limit that it met is a record of its own. */
void audit_execution_end(uint64_t id, const struct sandbox *sandbox,
			 const struct ipc_execution_done *done);

/* Record a denial, met `count` times: the layer, the operation, and a number for its argument. */
void audit_denial(const struct execution *execution, const char *layer, const char *operation,
		  uint64_t argument, uint32_t count);

/* A persistent sandbox was made: a fork of `origin`, or (NULL) a new one. It was changed:
 * `operation` is "save", "rollback", "delete" or "stop". And it is gone: `why` is "destroyed",
 * "expired" or "damaged". `checkpoint` is its number in the sandbox that it is of, 0: none. */
void audit_sandbox_begin(const struct frontend *frontend, const char *id,
			 const struct store_meta *meta, const char *origin, uint32_t checkpoint);
void audit_sandbox_change(const struct frontend *frontend, const char *id, const char *operation,
			  uint32_t checkpoint);
void audit_sandbox_end(const char *id, const char *why);

/* Record that an interpreter ended before a request took it: its start met its limit, for one. */
void audit_standby_end(const struct sandbox *sandbox, const struct ipc_spawn_done *done);

/* Record that an apply of a sandbox's changes to the host, or its undo, begins. Errors as of
 * audit_execution_begin(). audit_apply_end() records its result. */
int audit_apply_begin(const struct frontend *frontend, const char *id,
		      const struct ipc_changes_start *from, struct audit_ticket *ticket,
		      char detail[IPC_LIST_MAX]);
void audit_apply_end(const char *id, const struct ipc_changes_done *done);

/* Record a refused request. */
void audit_refused(const struct frontend *frontend, enum refusal reason);

/* Record that a peer of ours broke the protocol: "frontend", "factory" or "init", with its number.
 */
void audit_violation(const char *peer, uint64_t number, const char *problem);

/* Record that another user connected to the service. */
void audit_stranger(uid_t uid);

/* Record the end of the supervisor. It is the last record: nothing after it is recorded. */
void audit_stop(void);

#endif
