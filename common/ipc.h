/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages between our processes as plain structs, and their one encoder and one decoder.
 *
 * A struct never goes over the wire as memory: ipc_schema.c lists each struct's fields, and the
 * encoder and decoder walk that list. Wire format: u32 type, then the fields in order, native byte
 * order, no padding; strings and byte ranges carry a u32 length and no terminator.
 *
 * Field rules (checked by the decoder, so that a handler need not): STR holds 1 to size-1 bytes
 * without NUL and arrives terminated; OPT may also be empty; BYTES holds 0 to size bytes, and its
 * field `x` has its length beside it in `x_size`.
 */
#ifndef COMMON_IPC_H
#define COMMON_IPC_H

#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"

enum ipc_role {
	IPC_LAUNCHER = 1,
	IPC_FRONTEND,
	IPC_SUPERVISOR,
	IPC_FACTORY,
	IPC_INIT,
	IPC_LAYERS,
	IPC_WORKLOAD, /* its first process, before it executes the workload's program */
};

enum ipc_phase {
	IPC_SETUP = 1,
	IPC_SERVE,
};

enum ipc_type {
	IPC_TYPE_NONE,
#define IPC(name, sender, receiver, phase, fds) IPC_TYPE_##name,
#include "common/ipc_messages.def"
#undef IPC
	IPC_TYPE_COUNT
};

/* What the decoder or the channel found wrong. Closed set; never mixed with errno. */
enum ipc_error {
	IPC_OK,
	IPC_ERROR_TYPE,      /* unknown type */
	IPC_ERROR_SHORT,     /* ends before its fields do */
	IPC_ERROR_TRAILING,  /* bytes after the last field */
	IPC_ERROR_EMPTY,     /* a STR of length zero */
	IPC_ERROR_NUL,       /* a NUL inside a string */
	IPC_ERROR_TOO_LONG,  /* a length beyond the field's room */
	IPC_ERROR_DIRECTION, /* this sender or receiver may not */
	IPC_ERROR_PHASE,     /* not now */
	IPC_ERROR_FDS,       /* too many or too few descriptors, or of the wrong kind */
	IPC_ERROR_TRUNCATED, /* the kernel cut data or descriptors */
};

/* How limits are enforced: the policy's requirement and the posture use the same words. */
enum limits_mode {
	LIMITS_CGROUP = 0,
	LIMITS_FALLBACK = 1,
};

enum frontend_mode {
	FRONTEND_BROKER = 1, /* start msp-broker on the supervisor's descriptors 0 and 1 */
	FRONTEND_LAUNCHER,   /* the launcher itself goes on as the frontend */
	FRONTEND_SERVICE,    /* many: each connection to the socket of supervisor_listen */
};

enum refusal {
	REFUSAL_NONE,
	REFUSAL_PROFILE_UNKNOWN,  /* detail: the profiles that exist */
	REFUSAL_LANGUAGE_UNKNOWN, /* detail: the languages of the profile */
	REFUSAL_LANGUAGE_MISSING, /* detail: the languages that are installed */
	REFUSAL_REQUEST_IN_USE,
	REFUSAL_BUSY,      /* as many run as the operator allows; detail: how many */
	REFUSAL_MEMORY,    /* the sandboxes use what the operator allows; detail: how much */
	REFUSAL_ARGV,      /* argv or environment is malformed */
	REFUSAL_CWD,       /* not an absolute path */
	REFUSAL_RESOURCES, /* detail: the system's error text */
	REFUSAL_AUDIT,     /* its begin cannot be recorded; detail: what is wrong with the log */
	REFUSAL_SANDBOX_UNKNOWN,    /* none has this id or name, for this owner */
	REFUSAL_SANDBOX_BUSY,       /* something runs in it; detail: how many executions */
	REFUSAL_SANDBOX_ELSEWHERE,  /* another supervisor has it */
	REFUSAL_SANDBOX_DAMAGED,    /* detail: what is wrong with its files */
	REFUSAL_SANDBOX_NAME,       /* the owner has one of that name; detail: its id */
	REFUSAL_SANDBOX_PROFILE,    /* the profile keeps nothing, or is gone; detail: its name */
	REFUSAL_SANDBOXES,          /* as many as the operator allows; detail: how many */
	REFUSAL_DISK,               /* they use what the operator allows; detail: how much */
	REFUSAL_WORKSPACE,          /* it may not be worked on; detail: the rule and the remedy */
	REFUSAL_CHECKPOINT_UNKNOWN, /* detail: those that there are */
	REFUSAL_CHECKPOINT_LIMIT,   /* CHECKPOINTS_MAX or LAYERS_MAX; detail: which */
	REFUSAL_CHECKPOINT_NEEDED,  /* others are built on it; detail: which */
	REFUSAL_APPLY,              /* the profile does not let this frontend apply */
	REFUSAL_UNDO,               /* there is nothing to take back */
	REFUSAL_STATE,              /* there is no place for lasting files; detail: why */
	REFUSAL_COUNT
};

enum end_reason {
	END_CANCELLED = 1,
	END_OUTPUT,
	END_CLIENT_GONE,
};

/* Why a client that was handed over is no longer served. */
enum client_end_reason {
	CLIENT_END_DONE = 1, /* its broker ended */
	CLIENT_END_FAILED,   /* its broker could not be started, or broke the protocol */
	CLIENT_END_FULL,     /* FRONTENDS_MAX are served */
	CLIENT_END_LIMITS, /* the service runs with weaker limits than the client's operator accepts
			    */
	CLIENT_END_STOPPING, /* the service stops */
};

/* fds: sealed policy blob, msp-child-init, msp-broker */
struct ipc_supervisor_start {
	uint8_t schema[IPC_SCHEMA_BYTES];
	uint32_t frontend;     /* enum frontend_mode */
	uint32_t limits;       /* enum limits_mode that the operator accepts */
	uint32_t executions;   /* most at once, 1 to EXECUTIONS_MAX */
	uint64_t memory_bytes; /* most that all sandboxes together may use; 0: no such limit */
	char default_profile[IPC_NAME_MAX]; /* of requests that name none; empty: the plan's */
};

/* fd: a cgroup v2 directory with cpu, memory and pids enabled for its children, ours to fill */
struct ipc_supervisor_cgroup {
	uint32_t has_io; /* 1: io is enabled too */
};

/* fd: O_PATH of the host's file or directory */
struct ipc_supervisor_bind {
	char host_path[IPC_PATH_MAX];
	char inside_path[IPC_PATH_MAX];
};

/* fd: O_PATH of what the record's `source` named when the launcher checked it */
struct ipc_supervisor_pin {
	uint32_t profile; /* index in the blob */
	uint32_t mount;   /* index in the profile */
};

/* fd: the audit log's directory, ours alone */
struct ipc_supervisor_audit {
	char path[IPC_PATH_MAX]; /* of it, for messages */
};

/* There is none. */
struct ipc_supervisor_unaudited {
	char problem[IPC_LIST_MAX]; /* why, as a phrase */
};

/* fds: the directory of what lasts, ours alone; msp-layers */
struct ipc_supervisor_state {
	char path[IPC_PATH_MAX]; /* of it, for messages */
};

/* fd: msp-file, after supervisor_state; without it there are no file tools */
struct ipc_supervisor_file {
	uint32_t reserved;
};

/* There is none, so that no sandbox lasts. */
struct ipc_supervisor_stateless {
	char problem[IPC_LIST_MAX]; /* why, as a phrase */
};

/* fd: a channel of its own to the part of the launcher that stays, where the launcher itself goes on
 * as the frontend */
struct ipc_supervisor_keeper {
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
	uint32_t binds; /* how many supervisor_bind came before */
	uint32_t pins;  /* and supervisor_pin */
};

/* The operator's file may have changed: compile it again. One of the next two answers. */
struct ipc_policy_ask {
	uint32_t generation; /* the one in force, counted from 1 */
};

/* fd: sealed policy blob */
struct ipc_policy_new {
	uint32_t generation; /* of the question */
	uint32_t pins;       /* how many supervisor_pin for it came before */
};

/* What is wrong with the file, for the operator. */
struct ipc_policy_bad {
	char text[IPC_LIST_MAX];
};

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

/* fd: O_PATH of a directory. For the next workspace_ask, which is no person's: the client's own, as
 * in client_workspace. Without any: those that this launcher was started with. */
struct ipc_workspace_within {
	uint32_t is_start;
};

/* Open a directory of the host that a sandbox shall work on, if the policy lets it: it meets
 * nothing protected, and lies in a workspace. One of the next two answers. */
struct ipc_workspace_ask {
	uint32_t number;     /* of the question */
	uint32_t generation; /* of the policy in force */
	uint32_t is_person;  /* 1: a person named it; else a model may have: what is open to it
			      * without the operator's word is the directory msp was started in */
	char path[IPC_PATH_MAX];
};

/* fd: O_PATH of it */
struct ipc_workspace_open {
	uint32_t number;
	char path[IPC_PATH_MAX]; /* canonical */
};

struct ipc_workspace_bad {
	uint32_t number;
	char text[IPC_LIST_MAX]; /* the path, the rule and what helps */
};

/* What is in force around the workloads of a profile, as a probe measured it in its sandbox. */
struct ipc_posture_measured {
	uint32_t landlock_abi;
	uint32_t namespaces;  /* the sandbox's own: a bit for each enum posture_namespace */
	uint64_t landlock_fs; /* these: the rights and scopes that are handled */
	uint64_t landlock_net;
	uint64_t landlock_scopes;
	uint32_t layers_closed;  /* POSTURE_BIT() each: the act against it was tried and refused */
	uint32_t layers_untried; /* the profile does without it, or allows what would be tried */
	uint32_t error; /* answer to the act against the first layer in neither set; 0: it worked */
};

/* The same with what the supervisor knows of it. */
struct ipc_posture_full {
	uint32_t
		is_measured; /* 0: none of its sandboxes was probed yet, and nothing below is set */
	uint32_t limits;     /* enum limits_mode in force */
	uint32_t controllers;  /* those of the sandbox's cgroup: enum posture_controller as bits */
	uint32_t seccomp_mode; /* as prctl(2) has it: 2 with a filter */
	uint8_t filter_hash[IPC_SCHEMA_BYTES]; /* SHA-256 of the system call filter */
	struct ipc_posture_measured measured;
};

struct ipc_status_ask {
	uint8_t schema[IPC_SCHEMA_BYTES];
};

struct ipc_status {
	uint32_t pid; /* of the supervisor */
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
	uint32_t generation;         /* of the policy, counted from 1 */
	uint32_t reload_failed;      /* 1: the operator's file has changed, and cannot be used */
	uint64_t uptime_us;
	struct ipc_posture_full posture; /* of the default profile */
};

struct ipc_hello {
	uint8_t schema[IPC_SCHEMA_BYTES];
};

/* fd: the sealed plan; what it says of helpers' profiles is not for clients. With it the posture,
 * as measured, and what may be asked for. Lists are names with a NUL after each. */
struct ipc_welcome {
	uint8_t schema[IPC_SCHEMA_BYTES];
	uint32_t landlock_abi;
	uint32_t limits; /* enum limits_mode in force */
	char default_profile[IPC_NAME_MAX];
	uint32_t profiles_size;
	uint8_t profiles[IPC_LIST_MAX];
	uint32_t languages_size;
	uint8_t languages[IPC_LIST_MAX];    /* installed ones of the default profile */
	char posture_profile[IPC_NAME_MAX]; /* of the default profile; empty: not measured yet */
	struct ipc_posture_full posture;
};

/* Before the end of the frontend's first execution in a profile whose posture the welcome did not
 * say. */
struct ipc_profile_posture {
	char profile[IPC_NAME_MAX];
	struct ipc_posture_full posture;
};

struct ipc_execution_start {
	uint64_t request;    /* chosen by the frontend, unique among its live executions */
	uint32_t timeout_ms; /* 0: the profile's default; above the profile's most: that */
	uint32_t
		use_shell; /* 1: argv[0] is a command for the profile's shell, the rest its $0... */
	uint32_t use_tty;  /* 1: a terminal of the sandbox's own; execution_tty follows */
	uint32_t tty_rows; /* its size at first; 0: unknown */
	uint32_t tty_columns;
	char profile[IPC_NAME_MAX]; /* empty: the default one */
	char sandbox[IPC_NAME_MAX]; /* id, or name of the owner's; empty: a new one, gone with it */
	char owner[IPC_NAME_MAX];   /* whose sandboxes are meant; empty: the user's own */
	char cwd[IPC_PATH_MAX];     /* empty: the profile's */
	uint32_t argv_size;
	uint8_t argv[IPC_ARGV_MAX]; /* NUL after each argument */
	uint32_t environment_size;
	uint8_t environment[IPC_ENVIRONMENT_MAX]; /* NUL after each K=V; added to the profile's */
};

/* fd: the code, sealed */
struct ipc_code_start {
	uint64_t request;
	uint32_t timeout_ms;
	char profile[IPC_NAME_MAX]; /* empty: the default one */
	char sandbox[IPC_NAME_MAX];
	char owner[IPC_NAME_MAX];
	char language[IPC_NAME_MAX];
	char cwd[IPC_PATH_MAX];
	uint32_t argv_size;
	uint8_t argv[IPC_ARGV_MAX]; /* the program's arguments; may be empty */
	uint32_t environment_size;
	uint8_t environment[IPC_ENVIRONMENT_MAX];
};

struct ipc_execution_end {
	uint64_t request;
	uint32_t reason; /* enum end_reason */
};

/* What a frontend may send to an execution, SIG##name each. Not KILL: that is execution_end. None
 * of those that the kernel or a limit sends to tell of something (SYS, XCPU, XFSZ, SEGV...): the
 * verdict is read from them. Not WINCH: the kernel sends it when a terminal's size is set. */
#define IPC_SIGNALS(SIGNAL)                                                                        \
	SIGNAL(HUP)                                                                                \
	SIGNAL(INT)                                                                                \
	SIGNAL(QUIT)                                                                               \
	SIGNAL(USR1)                                                                               \
	SIGNAL(USR2)                                                                               \
	SIGNAL(TERM)                                                                               \
	SIGNAL(CONT)                                                                               \
	SIGNAL(STOP)                                                                               \
	SIGNAL(TSTP)

/* For the process group of the execution's first process. */
struct ipc_execution_signal {
	uint64_t request;
	uint32_t signal; /* one of IPC_SIGNALS */
};

/* Work on a file of a sandbox that lasts: an execution of msp-file in it, by the way of all others.
 * Its stdin takes what is to be written, its stdout gives what was read (common/file_record.h). */
struct ipc_file_start {
	uint64_t request;
	char sandbox[IPC_NAME_MAX];
	char owner[IPC_NAME_MAX];
	uint32_t argv_size;
	uint8_t argv[IPC_PATH_MAX * 2]; /* arguments of msp-file, NUL after each, without argv[0] */
};

enum workspace_mode {
	WORKSPACE_NONE = 0, /* an empty one of the sandbox's own */
	WORKSPACE_COPY,     /* copy-on-write */
	WORKSPACE_READ,
	WORKSPACE_WRITE, /* the directory itself, if the operator allows that */
	WORKSPACE_MODE_COUNT
};

/* sandbox_info answers, or execution_refused. */
struct ipc_sandbox_new {
	uint64_t request;
	uint32_t workspace_mode;      /* enum workspace_mode */
	uint32_t ttl_s;               /* 0: the profile's */
	char profile[IPC_NAME_MAX];   /* empty: the default one */
	char name[IPC_NAME_MAX];      /* for people, unique among the owner's; empty: none */
	char owner[IPC_NAME_MAX];     /* empty: the user's own */
	char workspace[IPC_PATH_MAX]; /* absolute path on the host; empty with NONE */
};

/* All of an owner's, in a sandbox_info each, then request_done. */
struct ipc_sandbox_list {
	uint64_t request;
	uint32_t is_everybody; /* 1: of every owner; not for brokers */
	char owner[IPC_NAME_MAX];
};

enum sandbox_end {
	SANDBOX_END_STOP = 1, /* end what runs in it; its files stay */
	SANDBOX_END_DESTROY,
};

/* request_done answers, or execution_refused. */
struct ipc_sandbox_end {
	uint64_t request;
	uint32_t how; /* enum sandbox_end */
	char sandbox[IPC_NAME_MAX];
	char owner[IPC_NAME_MAX];
};

enum checkpoint_operation {
	CHECKPOINT_SAVE = 1, /* checkpoint_info answers */
	CHECKPOINT_LIST,     /* a checkpoint_info each, then request_done */
	CHECKPOINT_ROLLBACK, /* request_done; what is not saved is gone */
	CHECKPOINT_FORK,   /* sandbox_info of the new one, as it was at the checkpoint, or is now */
	CHECKPOINT_DELETE, /* request_done; its files stay where others need them */
	CHECKPOINT_OPERATION_COUNT
};

/* Refused while something runs in the sandbox, but for LIST. */
struct ipc_checkpoint_do {
	uint64_t request;
	uint32_t operation;      /* enum checkpoint_operation */
	uint32_t number;         /* of the checkpoint; 0: by name, or with FORK the present */
	char name[IPC_NAME_MAX]; /* SAVE: of the new one; FORK: of the new sandbox; may be empty */
	char of[IPC_NAME_MAX];   /* name of the checkpoint that is meant; empty: by number */
	char sandbox[IPC_NAME_MAX];
	char owner[IPC_NAME_MAX];
};

enum changes_operation {
	CHANGES_DIFF = 1,
	CHANGES_PREVIEW, /* what an apply would do */
	CHANGES_APPLY,
	CHANGES_UNDO, /* the last apply, where nobody has changed the files since */
	CHANGES_OPERATION_COUNT
};

enum changes_conflict {
	CONFLICT_REFUSE = 0, /* nothing is applied while there is one */
	CONFLICT_OURS,       /* the sandbox's wins */
	CONFLICT_THEIRS,     /* the host's stays, and the rest is applied */
	CONFLICT_COUNT
};

enum changes_flag {
	CHANGES_TEXT = 1,     /* DIFF, PREVIEW: with unified diffs */
	CHANGES_HELD_TOO = 2, /* what the host may execute by itself is confirmed: apply it too */
	CHANGES_FROM_CHECKPOINT = 4, /* DIFF: since the checkpoint `number`, not against the host */
};

/* fd: the chosen paths, relative to the workspace, NUL after each, sealed; empty: all.
 * changes_started and changes_done answer, or execution_refused. */
struct ipc_changes_start {
	uint64_t request;
	uint32_t operation; /* enum changes_operation */
	uint32_t conflict;  /* enum changes_conflict */
	uint32_t flags;     /* enum changes_flag */
	uint32_t number;    /* of a checkpoint */
	uint64_t skip;      /* DIFF, PREVIEW: changes to leave out at the beginning */
	uint64_t most;      /* the same: how many to tell of; 0: all */
	char sandbox[IPC_NAME_MAX];
	char owner[IPC_NAME_MAX];
};

/* A broker's last word: its end is none of a crash. */
struct ipc_goodbye {
	uint32_t exit_code;
};

struct ipc_execution_refused {
	uint64_t request;
	uint32_t reason;   /* enum refusal */
	uint32_t retry_ms; /* BUSY, MEMORY: in this time at the latest an execution ends; else 0 */
	char detail[IPC_LIST_MAX];
};

/* fds: stdin write end, stdout read end, stderr read end. Sent at once, before the workload runs.
 */
struct ipc_execution_started {
	uint64_t request;
	uint64_t output_bytes; /* the profile's limit; beyond it the frontend ends it. 0: none */
	uint64_t log_bytes;    /* how much of its output the frontend keeps for reading later */
	uint64_t wall_ms;      /* it is killed when it runs that long from now on; 0: not known */
};

/* fd: the terminal's master side */
struct ipc_execution_tty {
	uint64_t request;
	uint64_t output_bytes; /* these: as in execution_started */
	uint64_t log_bytes;
	uint64_t wall_ms;
};

/* A sandbox that lasts, as it is now. Times are of the real clock, in seconds. */
struct ipc_sandbox_info {
	uint64_t request;
	char id[IPC_ID_MAX];
	char name[IPC_NAME_MAX];
	char owner[IPC_NAME_MAX];
	char profile[IPC_NAME_MAX];
	char workspace[IPC_PATH_MAX];
	uint32_t workspace_mode; /* enum workspace_mode */
	uint32_t is_live;
	uint32_t is_elsewhere; /* another supervisor has it */
	uint32_t is_damaged;
	uint32_t executions; /* that run in it now */
	uint32_t checkpoints;
	uint64_t created_s;
	uint64_t used_s;
	uint64_t expires_s;
	uint64_t disk_bytes; /* of its own layers, when they were last counted */
};

struct ipc_checkpoint_info {
	uint64_t request;
	uint32_t number;     /* counted from 1, never given again in its sandbox */
	uint32_t parent;     /* the checkpoint it was made on; 0: none */
	uint32_t is_current; /* the sandbox's files are built on it */
	uint64_t created_s;
	char name[IPC_NAME_MAX];
};

/* fd: struct change_record (common/changes.h) after another */
struct ipc_changes_started {
	uint64_t request;
};

struct ipc_changes_done {
	uint64_t request;
	uint32_t error;     /* errno of a failure; 0: all of it was done and told */
	uint32_t step;      /* enum changes_step of it */
	uint32_t conflicts; /* these: how many changes */
	uint32_t held;
	uint32_t applied;
	uint32_t told;
	uint64_t total; /* changes that there are */
};

/* What was asked for has been done. */
struct ipc_request_done {
	uint64_t request;
};

/* fd: the sealed plan that holds for what is asked from now on; the rest as in the welcome. */
struct ipc_policy_changed {
	uint32_t generation; /* counted from 1 */
	char default_profile[IPC_NAME_MAX];
	uint32_t profiles_size;
	uint8_t profiles[IPC_LIST_MAX];
	uint32_t languages_size;
	uint8_t languages[IPC_LIST_MAX];
};

struct ipc_execution_done {
	uint64_t request;
	uint32_t verdict;   /* enum verdict */
	uint32_t exit_code; /* EXITED */
	uint32_t signal;    /* SIGNALLED and the verdicts that kill */
	uint32_t stage;     /* INTERNAL, or EXEC: where the start failed (enum stage), else NONE */
	uint32_t error;     /* errno of that stage */
	uint64_t wall_us;
	uint64_t cpu_us;
	uint64_t peak_bytes;
	uint32_t denials_size;
	uint8_t denials[IPC_DENIALS_MAX]; /* struct denial[], common/denial.h */
};

/* fd: sealed policy blob */
struct ipc_factory_start {
	uint8_t schema[IPC_SCHEMA_BYTES];
	uint32_t limits; /* enum limits_mode */
};

/* fd: our cgroup directory, so that the factory can empty it if the supervisor dies */
struct ipc_factory_cgroup {
	uint32_t slots; /* how many sandbox cgroups s0, s1, ... there may be */
};

/* fd: O_PATH of the host's file or directory */
struct ipc_factory_bind {
	uint32_t phase; /* enum plan_mount_phase: where its mount point lies */
	char host_path[IPC_PATH_MAX];
	char inside_path[IPC_PATH_MAX];
};

/* fd: as in supervisor_pin */
struct ipc_factory_pin {
	uint32_t generation; /* slot of the blob */
	uint32_t profile;
	uint32_t mount;
};

struct ipc_factory_serve {
	uint32_t binds;
};

/* fd: sealed policy blob, which sandboxes and helpers come from unless they say another */
struct ipc_factory_policy {
	uint32_t slot; /* under which it is kept, below GENERATIONS_MAX; not in use */
};

/* No more sandboxes will come from it. */
struct ipc_factory_forget {
	uint32_t slot;
};

struct ipc_factory_ready {
	uint32_t stage; /* NONE: ready; else where the set-up failed */
	uint32_t error;
};

/* fd: the cgroup that the next sandbox_create shall start its init in */
struct ipc_sandbox_cgroup {
	uint32_t slot;
};

enum layer_role {
	LAYER_LOWER = 1, /* the highest first */
	LAYER_UPPER,
	LAYER_WORK,
	LAYER_READ,  /* alone: a directory to be bound, read-only */
	LAYER_WRITE, /* the same, not read-only */
	LAYER_ROLE_COUNT
};

/* fd: O_PATH of a directory from which a lasting place of the next sandbox_create is made */
struct ipc_sandbox_layer {
	uint32_t slot;
	uint32_t mount; /* index of the profile's record, which has a place */
	uint32_t role;  /* enum layer_role */
};

/* fd: the init's end of its channel */
struct ipc_sandbox_create {
	uint32_t slot;
	uint32_t profile;    /* index in the blob */
	uint32_t generation; /* under which the blob is kept; the first one is 0 */
	uint32_t probe;      /* enum probe_mode of the spawn to come */
	uint32_t lasts;      /* 0: it ends with the first process of its one execution; 1: it has
			      * SANDBOX_EXECUTIONS_MAX at once, and goes on without any */
};

/* fd: pidfd of the init */
struct ipc_sandbox_created {
	uint32_t slot;
};

struct ipc_sandbox_failed {
	uint32_t slot;
	uint32_t stage;
	uint32_t error;
};

enum helper_kind { HELPER_BROKER = 0, HELPER_LAYERS, HELPER_KIND_COUNT };

/* fds: image, stdin, stdout, stderr, the helper's channel */
struct ipc_helper_start {
	uint32_t slot;
	uint32_t kind; /* enum helper_kind */
};

/* fd: pidfd of the helper */
struct ipc_helper_started {
	uint32_t slot;
};

/* fds: stdin, stdout, stderr of the workload */
struct ipc_spawn_stdio {
	uint32_t slot;
};

/* fd: the program to execute, sealed, in place of what argv[0] names */
struct ipc_spawn_image {
	uint32_t slot;
};

/* fd: the code, sealed */
struct ipc_spawn_code {
	uint32_t slot;
	char path[IPC_PATH_MAX]; /* where the workload shall find it */
};

/* fd: the execution's leaf */
struct ipc_spawn_cgroup {
	uint32_t slot;
};

/* Whether the layers are tried before the workload runs. */
enum probe_mode {
	PROBE_NONE = 0,
	PROBE_FIRST, /* and then the workload runs, unless one is open */
	PROBE_ALONE, /* there is no workload */
};

struct ipc_spawn {
	uint32_t slot;
	uint32_t probe; /* enum probe_mode */
	uint32_t use_tty;
	uint32_t tty_rows;
	uint32_t tty_columns;
	char cwd[IPC_PATH_MAX];
	uint32_t argv_size;
	uint8_t argv[IPC_ARGV_MAX];
	uint32_t environment_size;
	uint8_t environment[IPC_ENVIRONMENT_MAX];
};

/* For the workload's first process and its group, while it lives. */
struct ipc_spawn_signal {
	uint32_t slot;
	uint32_t signal;
};

/* Kill every process of this execution; without cgroups, where they cannot be told apart, what of
 * it is known, and everything when nothing else runs in the sandbox. */
struct ipc_spawn_kill {
	uint32_t slot;
};

struct ipc_init_failed {
	uint32_t stage;
	uint32_t error;
};

/* fd: the listener of the new workload's system call filter. Over a socketpair of the two. */
struct ipc_spawn_listener {
	uint32_t slot;
};

/* Of a spawn with a probe, before anything else is said of it. */
struct ipc_posture {
	uint32_t slot;
	struct ipc_posture_measured measured;
};

struct ipc_spawned {
	uint32_t slot;
};

struct ipc_spawned_tty {
	uint32_t slot;
};

struct ipc_spawn_done {
	uint32_t slot;
	uint32_t stage; /* NONE: it ran; else where its start failed */
	uint32_t error;
	uint32_t status;      /* as wait(2) gives it */
	uint32_t over_memory; /* 1: the fallback's watch killed it */
	uint32_t over_pids;   /* 1: that watch saw as many as the profile allows */
	uint32_t over_disk;   /* 1: it failed, and left a file system without blocks or inodes */
	uint64_t cpu_us;
	uint64_t peak_bytes;
	uint32_t denials_size;
	uint8_t denials[IPC_DENIALS_MAX]; /* struct denial[] */
};

enum layers_operation {
	LAYERS_NOTE = 1, /* what the uppers' files are based on; counts bytes */
	LAYERS_DIFF,
	LAYERS_PREVIEW,
	LAYERS_APPLY,
	LAYERS_UNDO,
	LAYERS_RECOVER, /* finish or undo what a journal says was interrupted */
	LAYERS_MERGE,   /* several layers into one */
	LAYERS_REMOVE,  /* a tree */
	LAYERS_OPERATION_COUNT
};

enum layers_role {
	LAYERS_HOST = 1, /* the workspace on the host */
	LAYERS_LAYER,    /* a layer's directory (its places and its base), the highest first */
	LAYERS_SINCE,    /* as LAYER: a layer that belongs to what is compared with */
	LAYERS_JOURNAL,  /* the sandbox's directory for journals */
	LAYERS_TARGET,   /* what is to be removed, or where merged layers go */
	LAYERS_ROLE_COUNT
};

/* fd: O_PATH of a directory. */
struct ipc_layers_directory {
	uint32_t role; /* enum layers_role */
};

/* fd: the chosen paths, as in changes_start. The directories came before; it does this and ends. */
struct ipc_layers_do {
	uint8_t schema[IPC_SCHEMA_BYTES];
	uint32_t operation; /* enum layers_operation */
	uint32_t conflict;
	uint32_t flags;
	uint64_t skip;
	uint64_t most;
	uint64_t since_us;  /* real clock; NOTE: a file of the host that changed later has no
			     * known base */
	uint32_t held_size; /* patterns that the operator adds to what is held back */
	uint8_t held[IPC_LIST_MAX]; /* NUL after each */
};

enum changes_step {
	CHANGES_STEP_NONE,
	CHANGES_STEP_READ,    /* reading the sandbox's or the host's files */
	CHANGES_STEP_OUTPUT,  /* telling of them */
	CHANGES_STEP_JOURNAL, /* writing down what will be done */
	CHANGES_STEP_WRITE,   /* changing the host's files; what was begun is undone */
	CHANGES_STEP_HELPER,  /* msp-layers did not say */
	CHANGES_STEP_COUNT
};

struct ipc_layers_done {
	uint32_t error;
	uint32_t step; /* enum changes_step */
	uint32_t conflicts;
	uint32_t held;
	uint32_t applied;
	uint32_t told;
	uint64_t total;
	uint64_t bytes; /* NOTE, MERGE: of the layers, in blocks */
	uint64_t inodes;
};

/* Room for any message. */
union ipc_any {
#define IPC(name, sender, receiver, phase, fds) struct ipc_##name name;
#include "common/ipc_messages.def"
#undef IPC
};

enum ipc_field_kind {
	IPC_FIELD_U32,
	IPC_FIELD_U64,
	IPC_FIELD_RAW, /* fixed size, copied */
	IPC_FIELD_STR,
	IPC_FIELD_OPT,
	IPC_FIELD_BYTES, /* its length is the u32 at size_offset */
};

struct ipc_field {
	const char *name;
	uint32_t kind;
	uint32_t offset;
	uint32_t size;        /* room in the struct */
	uint32_t size_offset; /* BYTES: offset of its size field */
};

/* One row of ipc_messages.def with its struct's fields. */
struct ipc_message {
	const char *name;
	enum ipc_role sender;
	enum ipc_role receiver;
	enum ipc_phase phase;
	const char *fds;
	const struct ipc_field *fields;
	uint32_t field_count;
	uint32_t struct_size;
};

/* The row of a type; NULL for IPC_TYPE_NONE and beyond the table. */
const struct ipc_message *ipc_message(uint32_t type);

/* SHA-256 of ipc_messages.def, ipc.h and ipc_schema.c, computed by the build. */
extern const uint8_t ipc_schema_hash[IPC_SCHEMA_BYTES];

/*
 * Write the message `type` from its struct into `buffer`.
 * Sets *ret_size and returns IPC_OK, or returns what is wrong with the struct; then *ret_size is
 * untouched. `room` of IPC_MESSAGE_MAX is always enough.
 */
enum ipc_error ipc_encode(uint32_t type, const void *message, uint8_t *buffer, size_t room,
			  size_t *ret_size);

/*
 * Read one whole message into the struct of its type. `message` must hold
 * ipc_message(type)->struct_size bytes and is zeroed first; pass sizeof of a union of the structs
 * that may come as `room`. On an error the struct's content is not to be used.
 */
enum ipc_error ipc_decode(const uint8_t *buffer, size_t size, void *message, size_t room,
			  uint32_t *ret_type);

/* A short text for an error, for logs. Static storage. */
const char *ipc_error_text(enum ipc_error error);

#endif
