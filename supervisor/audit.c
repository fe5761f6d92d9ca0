/* SPDX-License-Identifier: Apache-2.0 */
#include "audit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit_file.h"
#include "common/log.h"
#include "sandbox.h"

/* Longest waits for another holder of the log's lock: for a record without which the execution is
 * refused, and for a record that is only counted as lost. All that happens under the lock takes
 * microseconds, but a hundred supervisors that share two busy processors may come in turn after a
 * second. */
#define MUST_WAIT_US 2000000
#define MAY_WAIT_US 200000

#define CODE_STEP 16384

static struct {
	bool is_on;
	bool is_optional;
	bool is_told;  /* that something cannot be written */
	uint64_t lost; /* records that could not be */
	uint64_t executions;
	const char *path;
} audit;

static const char *const refusal_names[REFUSAL_COUNT] = {
#define REFUSAL(name, text) [REFUSAL_##name] = (text),
#include "common/refusal.def"
#undef REFUSAL
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* 0 or -errno: nothing is said yet. A field without a key is none. */
static int add_record(enum audit_event event, const struct audit_field *fields, size_t count,
		      uint64_t wait_us)
{
	struct audit_field all[AUDIT_FIELDS_MAX];
	size_t used = 0;
	int error;

	if (!audit.is_on)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (fields[i].key)
			all[used++] = fields[i];
	}
	if (audit.lost > 0)
		all[used++] = AUDIT_NUMBER("lost", audit.lost);
	error = audit_file_add(event, all, used, wait_us);
	if (error)
		return error;
	if (audit.is_told)
		log_line("the audit log is written again; %llu records are missing",
			 (unsigned long long)audit.lost);
	audit.is_told = false;
	audit.lost = 0;
	return 0;
}

static const char *why_lost(int error)
{
	return error == -ETIMEDOUT ? "another process keeps its lock" : errno_text(-error);
}

/* Go on without a record. */
static void lose_record(int error)
{
	audit.lost++;
	if (!audit.is_told)
		log_line("the audit log in %s cannot be written: %s", audit.path, why_lost(error));
	audit.is_told = true;
}

/* A record of what has happened anyway. */
static void note_event(enum audit_event event, const struct audit_field *fields, size_t count)
{
	const int error = add_record(event, fields, count, MAY_WAIT_US);

	if (error)
		lose_record(error);
}

#define NOTE(event, ...)                                                                           \
	do {                                                                                       \
		const struct audit_field fields[] = { __VA_ARGS__ };                               \
		note_event((event), fields, COUNT(fields));                                        \
	} while (0)

static void explain_error(int error, char detail[IPC_LIST_MAX])
{
	(void)snprintf(detail, IPC_LIST_MAX, "the audit log in %.600s cannot be written: %s",
		       audit.path, why_lost(error));
}

/* A record of what must not happen without it; the operator can say otherwise. */
static int require_record(enum audit_event event, const struct audit_field *fields, size_t count,
			  char detail[IPC_LIST_MAX])
{
	const int error = add_record(event, fields, count, MUST_WAIT_US);

	if (error && audit.is_optional) {
		lose_record(error);
		return 0;
	}
	if (error)
		explain_error(error, detail);
	return error;
}

/* Without the operator's word this is the end. */
static void go_without(const char *problem)
{
	if (!audit.is_optional)
		log_fatal(MSP_EXIT_REFUSED,
			  "nothing could be audited: %s. MSP_STATE_DIR=DIR names another place "
			  "(msp(1)), and 'audit: optional' in the operator's configuration does "
			  "without",
			  problem);
	log_line("nothing is audited: %s", problem);
	audit.is_on = false;
}

static int record_start(uint32_t frontend)
{
	static const char *const frontends[] = {
		[FRONTEND_BROKER] = "broker",
		[FRONTEND_LAUNCHER] = "launcher",
		[FRONTEND_SERVICE] = "service",
	};
	const bool is_known = frontend < COUNT(frontends) && frontends[frontend];
	const struct audit_field fields[] = {
		AUDIT_TEXT("version", MSP_VERSION),
		AUDIT_NUMBER("uid", supervisor.uid),
		AUDIT_TEXT("frontend", is_known ? frontends[frontend] : "unknown"),
		AUDIT_TEXT("limits", supervisor.limits == LIMITS_CGROUP ? "cgroup" : "fallback"),
		AUDIT_NUMBER("landlock_abi", (uint64_t)supervisor.landlock_abi),
		AUDIT_NUMBER("executions_max", supervisor.executions_max),
		AUDIT_NUMBER("memory_max", supervisor.memory_bytes),
	};

	return add_record(AUDIT_START, fields, COUNT(fields), MUST_WAIT_US);
}

void audit_open(struct audit_place *place, uint32_t frontend)
{
	char problem[IPC_LIST_MAX];
	int error;

	audit.path = place->path;
	audit.is_optional = plan_header(&supervisor.plan)->audit_optional != 0;
	if (place->directory < 0) {
		go_without(place->problem);
		return;
	}
	/* A write beyond the limit for files is an error like others. */
	if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
		log_fatal(MSP_EXIT_SOFTWARE, "signals cannot be set: %s", errno_text(errno));
	audit.is_on = true;
	error = audit_file_open(place->directory, supervisor.pid);
	place->directory = -1;
	if (!error)
		error = record_start(frontend);
	if (!error)
		return;
	explain_error(error, problem);
	go_without(problem);
}

int audit_directory(void)
{
	return audit.is_on ? audit_file_directory() : -1;
}

int audit_policy(const struct plan *plan, uint32_t number, char detail[IPC_LIST_MAX])
{
	const struct plan_header *header = plan_header(plan);
	uint8_t hash[SHA256_BYTES];
	const struct audit_field fields[] = {
		AUDIT_NUMBER("generation", number),
		AUDIT_TEXT("file", header->file ? plan_string(plan, header->file) : "builtin"),
		AUDIT_NUMBER("bytes", plan->size),
		AUDIT_SHA256("sha256", hash),
	};

	sha256(plan->bytes, plan->size, hash);
	return require_record(AUDIT_POLICY, fields, COUNT(fields), detail);
}

void audit_posture(const struct audit_field *fields, size_t count)
{
	note_event(AUDIT_POSTURE, fields, count);
}

void audit_client(const struct frontend *frontend)
{
	NOTE(AUDIT_CLIENT, AUDIT_NUMBER("frontend", frontend->number),
	     AUDIT_TEXT("asks", frontend->is_broker ? "through a broker" : "for itself"));
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
	return sandbox && sandbox_lasts(sandbox) ? AUDIT_TEXT("sandbox", sandbox->id)
						 : (struct audit_field){ 0 };
}

static uint32_t count_strings(const uint8_t *list, uint32_t size)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < size; i++)
		count += list[i] == '\0';
	return count;
}

int audit_execution_begin(const struct frontend *frontend, struct request *request, int code,
			  char detail[IPC_LIST_MAX])
{
	const struct plan_profile *profile = plan_profile(&supervisor.plan, request->profile);
	const struct ipc_spawn *spawn = request->spawn;
	struct audit_field fields[AUDIT_FIELDS_MAX];
	uint8_t argv_hash[SHA256_BYTES], code_hash[SHA256_BYTES];
	uint64_t code_size;
	size_t count = 0;

	request->id = ++audit.executions;
	if (!audit.is_on)
		return 0;
	sha256(spawn->argv, spawn->argv_size, argv_hash);
	fields[count++] = AUDIT_NUMBER("execution", request->id);
	fields[count++] = AUDIT_NUMBER("frontend", frontend->number);
	fields[count++] = AUDIT_NUMBER("request", request->number);
	fields[count++] = AUDIT_TEXT("profile", plan_string(&supervisor.plan, profile->name));
	fields[count++] = AUDIT_NUMBER("argv_count", count_strings(spawn->argv, spawn->argv_size));
	fields[count++] = AUDIT_NUMBER("argv_bytes", spawn->argv_size);
	fields[count++] = AUDIT_SHA256("argv_sha256", argv_hash);
	fields[count++] = AUDIT_NUMBER("environment_count",
				       count_strings(spawn->environment, spawn->environment_size));
	fields[count++] = AUDIT_NUMBER("environment_bytes", spawn->environment_size);
	fields[count++] = AUDIT_NUMBER("timeout_ms", request->timeout_ms);
	fields[count++] = AUDIT_NUMBER("tty", spawn->use_tty);
	fields[count++] = sandbox_field(request->sandbox);
	if (fields[count - 1].key)
		fields[count++] = AUDIT_NUMBER("file_tool", request->is_file);
	if (code >= 0) {
		hash_code(code, &code_size, code_hash);
		fields[count++] = AUDIT_NUMBER("code_bytes", code_size);
		fields[count++] = AUDIT_SHA256("code_sha256", code_hash);
	}
	return require_record(AUDIT_EXECUTION_BEGIN, fields, count, detail);
}

void audit_execution_end(uint64_t id, const struct sandbox *sandbox,
			 const struct ipc_execution_done *done)
{
	if (id == 0) /* a probe for no frontend: its posture is a record of its own */
		return;
	if (done->verdict >= VERDICT_TIMEOUT && done->verdict <= VERDICT_OUTPUT)
		NOTE(AUDIT_LIMIT, AUDIT_NUMBER("execution", id),
		     AUDIT_TEXT("limit", verdict_name(done->verdict)), sandbox_field(sandbox));
	NOTE(AUDIT_EXECUTION_END, AUDIT_NUMBER("execution", id),
	     AUDIT_TEXT("verdict", verdict_name(done->verdict)),
	     AUDIT_NUMBER("exit_code", done->exit_code), AUDIT_NUMBER("signal", done->signal),
	     AUDIT_TEXT("stage", stage_text(done->stage)), AUDIT_NUMBER("error", done->error),
	     AUDIT_NUMBER("wall_us", done->wall_us), AUDIT_NUMBER("cpu_us", done->cpu_us),
	     AUDIT_NUMBER("peak_bytes", done->peak_bytes), sandbox_field(sandbox));
}

void audit_denial(const struct execution *execution, const char *layer, const char *operation,
		  uint64_t argument, uint32_t count)
{
	NOTE(AUDIT_DENIAL, AUDIT_NUMBER("execution", execution->id), AUDIT_TEXT("layer", layer),
	     AUDIT_TEXT("operation", operation), AUDIT_NUMBER("argument", argument),
	     AUDIT_NUMBER("count", count), sandbox_field(execution->sandbox));
}

void audit_sandbox_begin(const struct frontend *frontend, const char *id,
			 const struct store_meta *meta, const char *origin, uint32_t checkpoint)
{
	static const char *const modes[WORKSPACE_MODE_COUNT] = {
		[WORKSPACE_NONE] = "none",
		[WORKSPACE_COPY] = "copy-on-write",
		[WORKSPACE_READ] = "read-only",
		[WORKSPACE_WRITE] = "read-write",
	};
	const struct audit_field fields[] = {
		AUDIT_TEXT("sandbox", id),
		AUDIT_NUMBER("frontend", frontend->number),
		AUDIT_TEXT("profile", meta->profile),
		AUDIT_TEXT("workspace", modes[meta->workspace_mode]),
		AUDIT_TEXT("origin", origin),
		AUDIT_NUMBER("checkpoint", checkpoint),
	};

	note_event(AUDIT_SANDBOX_BEGIN, fields, origin ? COUNT(fields) : COUNT(fields) - 2);
}

void audit_sandbox_change(const struct frontend *frontend, const char *id, const char *operation,
			  uint32_t checkpoint)
{
	NOTE(AUDIT_SANDBOX_CHANGE, AUDIT_TEXT("sandbox", id),
	     AUDIT_NUMBER("frontend", frontend->number), AUDIT_TEXT("operation", operation),
	     AUDIT_NUMBER("checkpoint", checkpoint));
}

void audit_sandbox_end(const char *id, const char *why)
{
	NOTE(AUDIT_SANDBOX_END, AUDIT_TEXT("sandbox", id), AUDIT_TEXT("reason", why));
}

void audit_standby_end(const struct sandbox *sandbox, const struct ipc_spawn_done *done)
{
	NOTE(AUDIT_STANDBY_END, sandbox_field(sandbox), AUDIT_NUMBER("error", done->error),
	     AUDIT_NUMBER("cpu_us", done->cpu_us));
}

int audit_apply_begin(const struct frontend *frontend, const char *id,
		      const struct ipc_changes_start *from, char detail[IPC_LIST_MAX])
{
	static const char *const conflicts[CONFLICT_COUNT] = {
		[CONFLICT_REFUSE] = "refuse",
		[CONFLICT_OURS] = "ours",
		[CONFLICT_THEIRS] = "theirs",
	};
	const struct audit_field fields[] = {
		AUDIT_TEXT("sandbox", id),
		AUDIT_NUMBER("frontend", frontend->number),
		AUDIT_NUMBER("request", from->request),
		AUDIT_TEXT("operation", from->operation == CHANGES_UNDO ? "undo" : "apply"),
		AUDIT_TEXT("conflict", conflicts[from->conflict]),
		AUDIT_NUMBER("held_too", (from->flags & CHANGES_HELD_TOO) != 0),
	};

	return require_record(AUDIT_APPLY_BEGIN, fields, COUNT(fields), detail);
}

void audit_apply_end(const char *id, const struct ipc_changes_done *done)
{
	NOTE(AUDIT_APPLY_END, AUDIT_TEXT("sandbox", id), AUDIT_NUMBER("request", done->request),
	     AUDIT_NUMBER("error", done->error), AUDIT_NUMBER("step", done->step),
	     AUDIT_NUMBER("total", done->total), AUDIT_NUMBER("applied", done->applied),
	     AUDIT_NUMBER("conflicts", done->conflicts), AUDIT_NUMBER("held", done->held));
}

void audit_refused(const struct frontend *frontend, enum refusal reason)
{
	NOTE(AUDIT_REFUSED, AUDIT_NUMBER("frontend", frontend->number),
	     AUDIT_TEXT("reason", refusal_names[reason]));
}

void audit_violation(const char *peer, uint64_t number, const char *problem)
{
	NOTE(AUDIT_VIOLATION, AUDIT_TEXT("peer", peer), AUDIT_NUMBER("number", number),
	     AUDIT_TEXT("problem", problem));
}

void audit_stranger(uid_t uid)
{
	note_event(AUDIT_STRANGER, (struct audit_field[]){ AUDIT_NUMBER("uid", uid) }, 1);
}

void audit_stop(void)
{
	NOTE(AUDIT_STOP, AUDIT_NUMBER("exit_status", (uint64_t)supervisor.exit_status),
	     AUDIT_NUMBER("executions", audit.executions));
}
