/* SPDX-License-Identifier: Apache-2.0 */
#include "base/audit.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_audit.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_start.h"
#include "common/ipc/limits_mode.h"
#include "common/ipc/workspace_mode.h"
#include "common/log.h"
#include "run/sandbox.h"

/* Longest wait for another holder of the log's lock, by a record without which something does not
 * happen. A hundred writers on two busy processors come in turn after a second. Nobody else waits
 * meanwhile. */
#define MUST_WAIT_MS 5000

/* Longest wait of the record of a start or a new policy, during which the event loop waits too. */
#define POLICY_WAIT_MS 2000
#define POLICY_ANSWER_US ((POLICY_WAIT_MS + UINT64_C(1000)) * 1000)

/* An answer usually takes 50 us. The event loop waits this long for one before it defers the
 * request; and a start or an end, in which there is nothing else to do, several times. */
#define ANSWER_WAIT_US 1000

/* msp-audit takes records at once as long as it has room for them: a burst fills the socket for a
 * few milliseconds. Beyond this it is full, or stopped. */
#define SEND_WAIT_US 20000

/* The last record: a service manager kills what is left when we have ended. */
#define STOP_WAIT_MS 2000

#define CODE_STEP 16384

static struct {
	bool is_on;
	bool is_optional;
	bool is_told;        /* that records are lost, and no more are waited for */
	uint64_t lost;       /* records that could not be sent to msp-audit */
	uint64_t asked;      /* number of the last record that wants an answer */
	uint32_t unanswered; /* how many of those have none yet */
	uint64_t executions;
	uint32_t frontend; /* kind of it, as the start record says */
	bool is_start_due; /* not recorded yet: the first other record brings it */
	const char *path;
	struct channel channel; /* to msp-audit */
	struct loop_watch watch;
	void (*on_answer)(uint64_t number, int error);
} audit = { .channel.fd = -1 };

static const char *const refusal_names[REFUSAL_COUNT] = {
#define REFUSAL(name, text) [REFUSAL_##name] = (text),
#include "common/ipc/refusal.def"
#undef REFUSAL
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct audit_field none;

static const char *why_lost(int error)
{
	return error == -ETIMEDOUT                         ? "another process keeps its lock"
	       : error == -EAGAIN || error == -EINPROGRESS ? "msp-audit does not keep up"
	       : error == -EPIPE                           ? "msp-audit ended"
							   : errno_text(-error);
}

/* Without msp-audit nothing more may happen here; the operator can say otherwise. */
static void lose_writer(void)
{
	if (audit.channel.fd < 0)
		return;
	loop_close(&audit.watch, &audit.channel.fd);
	if (audit.is_optional) {
		log_line("nothing is audited any more: msp-audit ended");
		audit.is_on = false;
		return;
	}
	log_line("nothing can be audited any more, and so nothing run: msp-audit ended");
	state_end(MSP_EXIT_SOFTWARE);
}

/* Take an answer, within ANSWER_WAIT_US or (MSG_DONTWAIT) at once. False: there is none. */
static bool receive_answer(int flags, uint64_t *ret_number, int *ret_error)
{
	static struct channel_message message;
	enum ipc_error wrong = IPC_OK;
	const int status = channel_receive(&audit.channel, &message, flags, &wrong);
	const struct ipc_audit_written *written =
		status == 1 && message.type == IPC_TYPE_audit_written
			? ipc_body(&message, audit_written)
			: NULL;

	if (written && audit.unanswered > 0) {
		audit.unanswered--;
		*ret_number = written->number;
		*ret_error = -(int)written->error;
		return true;
	}
	if (status != -EAGAIN && status != -EINTR)
		lose_writer();
	return false;
}

static void on_ready(void *context)
{
	uint64_t number;
	int error;

	while (audit.is_on && receive_answer(MSG_DONTWAIT, &number, &error))
		audit.on_answer(number, error);
}

static int record_start(uint64_t number);

/* Send a record to be written, after that of the start: 0 or -errno. `number`: of the answer, 0:
 * none. */
static int send_record(enum audit_event event, const struct audit_field *fields, size_t count,
		       uint64_t number, uint32_t wait_ms)
{
	static struct ipc_audit_record record;
	int error = audit.is_start_due ? record_start(0) : 0;

	if (error || audit.channel.fd < 0)
		return error ? error : -EPIPE;
	audit_record_make(&record, event, fields, count);
	record.number = number;
	record.wait_ms = wait_ms;
	record.cpu = audit.on_answer && !supervisor.is_for_one ? (uint32_t)sched_getcpu()
							       : IPC_AUDIT_ANY_CPU;
	record.lost = audit.lost;
	error = channel_send(&audit.channel, IPC_TYPE_audit_record, &record, NULL,
			     audit.is_told ? MSG_DONTWAIT : 0);
	if (!error) {
		audit.unanswered += number != 0;
		audit.lost = 0;
		audit.is_told = false;
	}
	return error;
}

/* The fields that name a plan. */
#define PLAN_FIELDS(plan, hash)                                                                    \
	AUDIT_TEXT(file, plan_header(plan)->file ? plan_string((plan), plan_header(plan)->file)    \
						 : "builtin"),                                     \
		AUDIT_NUMBER(bytes, (plan)->size), AUDIT_SHA256(sha256, (hash))

/* Record the start and the first policy. `number`: of the answer, 0: none. */
static int record_start(uint64_t number)
{
	const uint32_t frontend = audit.frontend;
	uint8_t hash[SHA256_BYTES];
	const struct audit_field fields[] = {
		AUDIT_TEXT(version, MSP_VERSION),
		AUDIT_NUMBER(uid, supervisor.uid),
		AUDIT_TEXT(frontend, frontend == FRONTEND_LAUNCHER ? "launcher"
				     : frontend == FRONTEND_BROKER ? "broker"
								   : "service"),
		AUDIT_TEXT(limits, supervisor.limits == LIMITS_CGROUP ? "cgroup" : "fallback"),
		AUDIT_NUMBER(landlock_abi, (uint64_t)supervisor.landlock_abi),
		AUDIT_NUMBER(executions_max, supervisor.executions_max),
		AUDIT_NUMBER(memory_max, supervisor.memory_bytes),
		PLAN_FIELDS(&supervisor.plan, hash),
	};
	int error;

	sha256(supervisor.plan.bytes, supervisor.plan.size, hash);
	audit.is_start_due = false;
	error = send_record(AUDIT_START, fields, COUNT(fields), number, POLICY_WAIT_MS);
	audit.is_start_due = error != 0;
	return error;
}

void audit_note(enum audit_event event, const struct audit_field *fields, size_t count)
{
	const int error = audit.is_on ? send_record(event, fields, count, 0, 0) : 0;

	if (!error)
		return;
	audit.lost++;
	if (!audit.is_told)
		log_line("the audit log in %s cannot be written: %s", audit.path, why_lost(error));
	audit.is_told = true;
	if (error != -EAGAIN)
		lose_writer();
}

/* Wait for the answer `number`, the last that was asked for, until `deadline_us`. -EINPROGRESS:
 * there is none yet. */
static int await_answer(uint64_t number, uint64_t deadline_us)
{
	uint64_t answered = 0;
	int error = 0;

	while (audit.is_on && answered != number) {
		if (receive_answer(0, &answered, &error)) {
			if (answered != number && audit.on_answer) /* else it ends */
				audit.on_answer(answered, error);
		} else if (clock_now_us() >= deadline_us) {
			return -EINPROGRESS;
		}
		if (audit.channel.fd < 0)
			return -EPIPE;
	}
	return answered == number ? error : 0;
}

/* Return the error; if it is one, `detail` says why nothing could be recorded. */
static int describe_error(int error, char detail[IPC_LIST_MAX])
{
	if (error)
		(void)snprintf(detail, IPC_LIST_MAX,
			       "the audit log in %.600s cannot be written: %s", audit.path,
			       why_lost(error));
	return error;
}

/* Record what must not happen without a record; the operator can say otherwise. Ask once, and take
 * the answer where it comes within `wait_us`. */
static int require_record(enum audit_event event, const struct audit_field *fields, size_t count,
			  uint32_t lock_ms, uint64_t wait_us, struct audit_ticket *ticket)
{
	int error;

	if (audit.is_optional) {
		audit_note(event, fields, count);
		return 0;
	}
	ticket->number = ++audit.asked;
	error = send_record(event, fields, count, ticket->number, lock_ms);
	return error ? error : await_answer(ticket->number, clock_now_us() + wait_us);
}

/* Require the record of a request. While other answers are due the log's lock is contended: then
 * nobody waits here. */
static int require_begin(enum audit_event event, const struct audit_field *fields, size_t count,
			 struct audit_ticket *ticket, char detail[IPC_LIST_MAX])
{
	const uint64_t wait_us = audit.unanswered > 0 ? 0 : ANSWER_WAIT_US;
	int error = ticket->error;

	if (!audit.is_on)
		ticket->state = AUDIT_TICKET_WRITTEN;
	if (ticket->state == AUDIT_TICKET_NONE) {
		error = require_record(event, fields, count, MUST_WAIT_MS, wait_us, ticket);
		ticket->state = error == -EINPROGRESS ? AUDIT_TICKET_ASKED
				: error               ? AUDIT_TICKET_REFUSED
						      : AUDIT_TICKET_WRITTEN;
	}
	if (ticket->state == AUDIT_TICKET_ASKED)
		return -EINPROGRESS;
	error = ticket->state == AUDIT_TICKET_REFUSED ? describe_error(error, detail) : 0;
	ticket->state = AUDIT_TICKET_NONE; /* the caller knows */
	return error;
}

/* Without the operator's word this is the end. */
static void go_without(const char *problem)
{
	if (!audit.is_optional)
		log_fatal(MSP_EXIT_REFUSED, AUDIT_NO_LOG, problem);
	log_line("nothing is audited: %s", problem);
	audit.is_on = false;
}

static int send_start(void)
{
	static struct ipc_audit_start start;
	int error;

	memcpy(start.schema, ipc_schema_hash, sizeof(start.schema));
	start.pid = supervisor.pid;
	strncpy(start.path, audit.path, sizeof(start.path) - 1);
	error = channel_send(&audit.channel, IPC_TYPE_audit_start, &start, NULL, 0);
	audit.channel.phase = IPC_SERVE;
	return error;
}

void audit_open(struct audit_place *place, uint32_t frontend)
{
	const struct timeval answer = { .tv_usec = ANSWER_WAIT_US };
	const struct timeval send = { .tv_usec = SEND_WAIT_US };
	char problem[IPC_LIST_MAX];
	int error;

	audit.path = place->path;
	audit.frontend = frontend;
	audit.is_optional = plan_header(&supervisor.plan)->audit_optional != 0;
	if (place->channel < 0) {
		go_without(place->problem);
		return;
	}
	audit.is_on = audit.is_start_due = true;
	audit.channel =
		(struct channel){ fd_take(&place->channel), IPC_SUPERVISOR, IPC_AUDIT, IPC_SETUP };
	if (setsockopt(audit.channel.fd, SOL_SOCKET, SO_RCVTIMEO, &answer, sizeof(answer)) != 0 ||
	    setsockopt(audit.channel.fd, SOL_SOCKET, SO_SNDTIMEO, &send, sizeof(send)) != 0)
		error = -errno;
	else
		error = send_start();
	if (!error && (frontend != FRONTEND_LAUNCHER || supervisor.is_for_one)) {
		audit.asked = !audit.is_optional;
		error = record_start(audit.asked);
	}
	if (describe_error(error, problem))
		go_without(problem);
}

void audit_await_start(void (*on_answer)(uint64_t number, int error))
{
	char problem[IPC_LIST_MAX];
	int error = 0;

	audit.on_answer = on_answer;
	if (!audit.is_on)
		return;
	if (audit.unanswered > 0)
		error = await_answer(audit.asked, clock_now_us() + POLICY_ANSWER_US);
	if (!error)
		error = loop_add(&audit.watch, audit.channel.fd, on_ready, NULL);
	if (describe_error(error, problem))
		go_without(problem);
}

int audit_policy(const struct plan *plan, uint32_t number, char detail[IPC_LIST_MAX])
{
	struct audit_ticket ticket;
	uint8_t hash[SHA256_BYTES];
	const struct audit_field fields[] = {
		AUDIT_NUMBER(generation, number),
		PLAN_FIELDS(plan, hash),
	};

	sha256(plan->bytes, plan->size, hash);
	if (!audit.is_on)
		return 0;
	return describe_error(require_record(AUDIT_POLICY, fields, COUNT(fields), POLICY_WAIT_MS,
					     POLICY_ANSWER_US, &ticket),
			      detail);
}

void audit_client(const struct frontend *frontend)
{
	AUDIT_NOTE(AUDIT_CLIENT, AUDIT_NUMBER(frontend, frontend->number),
		   AUDIT_TEXT(asks, frontend->is_broker ? "through a broker" : "for itself"));
}

/* Hash a sealed memfd: its code cannot change before it runs, and reading cannot fail. */
static void hash_code(int code, uint64_t *ret_size, uint8_t ret_hash[SHA256_BYTES])
{
	static uint8_t bytes[CODE_STEP];
	struct sha256 state;
	ssize_t got;

	*ret_size = 0;
	sha256_begin(&state);
	while ((got = pread(code, bytes, sizeof(bytes), (off_t)*ret_size)) > 0) {
		sha256_add(&state, bytes, (size_t)got);
		*ret_size += (uint64_t)got;
	}
	sha256_end(&state, ret_hash);
}

/* Return the id of a persistent sandbox; an ephemeral one goes with its execution and has none. */
static struct audit_field sandbox_field(const struct sandbox *sandbox)
{
	return sandbox && sandbox_lasts(sandbox) ? AUDIT_TEXT(sandbox, sandbox->persistent.id)
						 : none;
}

static uint32_t count_strings(const uint8_t *list, uint32_t size)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < size; i++)
		count += list[i] == '\0';
	return count;
}

int audit_execution_begin(const struct frontend *frontend, struct request *request, int code,
			  struct audit_ticket *ticket, char detail[IPC_LIST_MAX])
{
	const struct plan_profile *profile = plan_profile(&supervisor.plan, request->profile);
	const struct ipc_spawn *spawn = request->spawn;
	struct audit_field fields[IPC_AUDIT_FIELDS_MAX];
	uint8_t argv_hash[SHA256_BYTES], code_hash[SHA256_BYTES];
	uint64_t code_size;
	size_t count = 0;

	if (ticket->state == AUDIT_TICKET_NONE)
		ticket->execution = ++audit.executions;
	request->id = ticket->execution;
	if (!audit.is_on || ticket->state != AUDIT_TICKET_NONE)
		return require_begin(AUDIT_EXECUTION_BEGIN, NULL, 0, ticket, detail);
	sha256(spawn->argv, spawn->argv_size, argv_hash);
	fields[count++] = AUDIT_NUMBER(execution, request->id);
	fields[count++] = AUDIT_NUMBER(frontend, frontend->number);
	fields[count++] = AUDIT_NUMBER(request, request->number);
	fields[count++] = AUDIT_TEXT(profile, plan_string(&supervisor.plan, profile->name));
	fields[count++] = AUDIT_NUMBER(argv_count, count_strings(spawn->argv, spawn->argv_size));
	fields[count++] = AUDIT_NUMBER(argv_bytes, spawn->argv_size);
	fields[count++] = AUDIT_SHA256(argv_sha256, argv_hash);
	fields[count++] = AUDIT_NUMBER(environment_count,
				       count_strings(spawn->environment, spawn->environment_size));
	fields[count++] = AUDIT_NUMBER(environment_bytes, spawn->environment_size);
	fields[count++] = AUDIT_NUMBER(timeout_ms, request->timeout_ms);
	fields[count++] = AUDIT_NUMBER(tty, spawn->use_tty);
	fields[count++] = sandbox_field(request->sandbox);
	if (fields[count - 1].key && code < 0)
		fields[count++] = AUDIT_NUMBER(file_tool, request->is_file);
	if (code >= 0) {
		hash_code(code, &code_size, code_hash);
		fields[count++] = AUDIT_NUMBER(code_bytes, code_size);
		fields[count++] = AUDIT_SHA256(code_sha256, code_hash);
	}
	if (plan_header(&supervisor.plan)->audit_text) {
		fields[count++] = AUDIT_COMMAND(command, spawn->argv, spawn->argv_size);
		if (spawn->argv_size > IPC_AUDIT_COMMAND_MAX)
			fields[count++] = AUDIT_NUMBER(command_missing,
						       spawn->argv_size - IPC_AUDIT_COMMAND_MAX);
	}
	return require_begin(AUDIT_EXECUTION_BEGIN, fields, count, ticket, detail);
}

void audit_execution_end(uint64_t id, const struct sandbox *sandbox,
			 const struct ipc_execution_done *done)
{
	if (id == 0) /* a probe for no frontend: its posture is a record of its own */
		return;
	if (done->verdict >= VERDICT_TIMEOUT && done->verdict <= VERDICT_OUTPUT)
		AUDIT_NOTE(AUDIT_LIMIT, AUDIT_NUMBER(execution, id),
			   AUDIT_TEXT(limit, verdict_name(done->verdict)), sandbox_field(sandbox));
	AUDIT_NOTE(AUDIT_EXECUTION_END, AUDIT_NUMBER(execution, id),
		   AUDIT_TEXT(verdict, verdict_name(done->verdict)),
		   AUDIT_NUMBER(exit_code, done->exit_code), AUDIT_NUMBER(signal, done->signal),
		   AUDIT_TEXT(stage, stage_text(done->stage)), AUDIT_NUMBER(error, done->error),
		   AUDIT_NUMBER(wall_us, done->wall_us),
		   done->cpu_us > 0 ? AUDIT_NUMBER(cpu_us, done->cpu_us) : none,
		   done->peak_bytes > 0 ? AUDIT_NUMBER(peak_bytes, done->peak_bytes) : none,
		   sandbox && sandbox->cable > 0 ? AUDIT_NUMBER(cable, sandbox->cable) : none,
		   sandbox_field(sandbox));
}

void audit_denial(const struct execution *execution, const char *layer, const char *operation,
		  uint64_t argument, uint32_t count)
{
	AUDIT_NOTE(AUDIT_DENIAL, AUDIT_NUMBER(execution, execution->id), AUDIT_TEXT(layer, layer),
		   AUDIT_TEXT(operation, operation), AUDIT_NUMBER(argument, argument),
		   AUDIT_NUMBER(count, count), sandbox_field(execution->sandbox));
}

void audit_sandbox_begin(const struct frontend *frontend, const char *id,
			 const struct store_meta *meta, const char *origin, uint32_t checkpoint)
{
	static const char *const modes[WORKSPACE_MODE_COUNT] = { "none", "copy-on-write",
								 "read-only", "read-write" };

	AUDIT_NOTE(AUDIT_SANDBOX_BEGIN, AUDIT_TEXT(sandbox, id),
		   AUDIT_NUMBER(frontend, frontend->number), AUDIT_TEXT(profile, meta->profile),
		   AUDIT_TEXT(workspace, modes[meta->workspace_mode]),
		   origin ? AUDIT_TEXT(origin, origin) : none,
		   origin ? AUDIT_NUMBER(checkpoint, checkpoint) : none);
}

void audit_sandbox_change(const struct frontend *frontend, const char *id, const char *operation,
			  uint32_t checkpoint)
{
	AUDIT_NOTE(AUDIT_SANDBOX_CHANGE, AUDIT_TEXT(sandbox, id),
		   AUDIT_NUMBER(frontend, frontend->number), AUDIT_TEXT(operation, operation),
		   AUDIT_NUMBER(checkpoint, checkpoint));
}

void audit_sandbox_end(const char *id, const char *why)
{
	AUDIT_NOTE(AUDIT_SANDBOX_END, AUDIT_TEXT(sandbox, id), AUDIT_TEXT(reason, why));
}

void audit_standby_end(const struct sandbox *sandbox, const struct ipc_spawn_done *done)
{
	AUDIT_NOTE(AUDIT_STANDBY_END, sandbox_field(sandbox), AUDIT_NUMBER(error, done->error),
		   AUDIT_NUMBER(cpu_us, done->cpu_us));
}

int audit_apply_begin(const struct frontend *frontend, const char *id,
		      const struct ipc_changes_start *from, struct audit_ticket *ticket,
		      char detail[IPC_LIST_MAX])
{
	static const char *const conflicts[] = { "refuse", "sandbox", "host", "merge" };
	const struct audit_field fields[] = {
		AUDIT_TEXT(sandbox, id),
		AUDIT_NUMBER(frontend, frontend->number),
		AUDIT_NUMBER(request, from->request),
		AUDIT_TEXT(operation, from->operation == CHANGES_UNDO ? "undo" : "apply"),
		AUDIT_TEXT(conflict, conflicts[from->conflict]),
		AUDIT_NUMBER(held_too, (from->flags & CHANGES_HELD_TOO) != 0),
	};

	if (ticket->state == AUDIT_TICKET_NONE) {
		ticket->execution = 0;
		ticket->request = from->request;
		memcpy(ticket->sandbox, id, sizeof(ticket->sandbox));
	}
	return require_begin(AUDIT_APPLY_BEGIN, fields, COUNT(fields), ticket, detail);
}

void audit_apply_end(const char *id, const struct ipc_changes_done *done)
{
	AUDIT_NOTE(AUDIT_APPLY_END, AUDIT_TEXT(sandbox, id), AUDIT_NUMBER(request, done->request),
		   AUDIT_NUMBER(error, done->error), AUDIT_NUMBER(step, done->step),
		   AUDIT_NUMBER(total, done->total), AUDIT_NUMBER(applied, done->applied),
		   AUDIT_NUMBER(conflicts, done->conflicts), AUDIT_NUMBER(held, done->held));
}

void audit_drop(struct audit_ticket *ticket)
{
	const struct ipc_execution_done execution = { .verdict = VERDICT_INTERNAL,
						      .error = ECANCELED };
	const struct ipc_changes_done changes = { .request = ticket->request, .error = ECANCELED };
	const bool is_asked =
		ticket->state == AUDIT_TICKET_ASKED || ticket->state == AUDIT_TICKET_WRITTEN;

	ticket->state = AUDIT_TICKET_NONE;
	if (is_asked && ticket->execution > 0)
		audit_execution_end(ticket->execution, NULL, &execution);
	else if (is_asked)
		audit_apply_end(ticket->sandbox, &changes);
}

void audit_refused(const struct frontend *frontend, enum refusal reason)
{
	AUDIT_NOTE(AUDIT_REFUSED, AUDIT_NUMBER(frontend, frontend->number),
		   AUDIT_TEXT(reason, refusal_names[reason]));
}

void audit_violation(const char *peer, uint64_t number, const char *problem)
{
	AUDIT_NOTE(AUDIT_VIOLATION, AUDIT_TEXT(peer, peer), AUDIT_NUMBER(number, number),
		   AUDIT_TEXT(problem, problem));
}

void audit_stranger(uid_t uid)
{
	AUDIT_NOTE(AUDIT_STRANGER, AUDIT_NUMBER(uid, uid));
}

void audit_stop(void)
{
	const struct audit_field fields[] = {
		AUDIT_NUMBER(exit_status, (uint64_t)supervisor.exit_status),
		AUDIT_NUMBER(executions, audit.executions),
	};
	struct audit_ticket ticket;

	audit.on_answer = NULL;
	if (supervisor.is_service && audit.is_on) /* msp-audit says what it cannot write */
		(void)require_record(AUDIT_STOP, fields, COUNT(fields), STOP_WAIT_MS,
				     STOP_WAIT_MS * UINT64_C(1000), &ticket);
	else if (audit.frontend != FRONTEND_LAUNCHER)
		audit_note(AUDIT_STOP, fields, COUNT(fields));
	audit.is_on = false;
	fd_close(&audit.channel.fd);
}
