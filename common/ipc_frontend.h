/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between frontends and the supervisor: of a client of the service, and about executions.
 * Part of ipc.h.
 */
#ifndef COMMON_IPC_FRONTEND_H
#define COMMON_IPC_FRONTEND_H

#include <stdint.h>

#include "common/ipc_posture.h"
#include "common/limits.h"

enum refusal {
	REFUSAL_NONE,
#define REFUSAL(name, text) REFUSAL_##name,
#include "common/refusal.def"
#undef REFUSAL
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

/* fd: the sealed plan; what it says of helpers' profiles is not for clients. With it the posture,
 * as measured, and what may be asked for. Lists are names with a NUL after each. */
struct ipc_welcome {
	uint8_t schema[IPC_SCHEMA_BYTES];
	uint32_t landlock_abi;
	uint32_t limits;         /* enum limits_mode in force */
	uint32_t executions_max; /* alive at once, of all frontends */
	char default_profile[IPC_NAME_MAX];
	uint32_t profiles_size;
	uint8_t profiles[IPC_LIST_MAX];
	uint32_t languages_size;
	uint8_t languages[IPC_LIST_MAX];    /* installed ones of the default profile */
	char posture_profile[IPC_NAME_MAX]; /* the default profile's; empty: not measured yet */
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
	char owner[IPC_NAME_MAX];   /* owner of the sandboxes; empty: the user */
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

/* Signals that a frontend may send to an execution, SIG##name each. KILL is left out, since
 * execution_end does it; so are those that the kernel or a limit sends (SYS, XCPU, XFSZ, SEGV...),
 * since the verdict is read from them, and WINCH, which the kernel sends when a terminal's size is
 * set. */
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

/* Let it run so long from now on, if its time limit comes earlier; at most the maximum of its
 * profile from its start. Answered by execution_extended, unless it has ended. */
struct ipc_execution_extend {
	uint64_t request;
	uint32_t wall_ms;
};

struct ipc_execution_extended {
	uint64_t request;
	uint64_t wall_ms; /* as in execution_started */
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
	char sandbox[IPC_ID_MAX]; /* id of the one that lasts in which it runs; empty: a new one */
	char profile[IPC_NAME_MAX]; /* the sandbox's */
};

/* fd: the terminal's master side */
struct ipc_execution_tty {
	uint64_t request;
	uint64_t output_bytes; /* this and the next: as in execution_started */
	uint64_t log_bytes;
	uint64_t wall_ms;
};

/* The request has been carried out. */
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
	uint64_t heard_us; /* monotonic clock: the request was heard; wall_us later this was sent */
	uint64_t prepare_us; /* wall_us in parts: until its sandbox was asked for, */
	uint64_t sandbox_us; /* until that took it up, */
	uint64_t start_us;   /* until the workload executed, */
	uint64_t run_us;     /* until its first process ended, */
	uint64_t report_us;  /* until this was sent. All 0: no such report came */
	uint32_t denials_size;
	uint8_t denials[IPC_DENIALS_MAX]; /* struct denial[], common/denial.h */
};

#endif
