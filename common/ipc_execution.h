/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between frontends and the supervisor: about executions.
 */
#ifndef COMMON_IPC_EXECUTION_H
#define COMMON_IPC_EXECUTION_H

#include <stdint.h>

#include "common/limits.h"

struct ipc_execution_start {
	uint64_t request;    /* chosen by the frontend, unique among its live executions */
	uint32_t timeout_ms; /* 0: the profile's default; above the profile's most: that */
	uint32_t no_hosts;   /* 1: none of the profile's; only of a new sandbox */
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
	uint32_t no_hosts;
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

#endif
