/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between frontends and the supervisor: about executions.
 */
#ifndef COMMON_IPC_IPC_EXECUTION_H
#define COMMON_IPC_IPC_EXECUTION_H

#include "common/ipc/ipc_message.h"

/* clang-format off */

IPC_MESSAGE(execution_start,
	(HEAD, OPT),       /* no sandbox: a new one, gone with the execution */
	(U32, timeout_ms), /* 0: the profile's default; above the profile's most: that */
	(U32, no_hosts),   /* 1: none of the profile's; only of a new sandbox */
	(U32, use_shell),  /* 1: argv[0] is a command for the profile's shell, the rest its $0... */
	(U32, use_tty),    /* 1: a terminal of the sandbox's own; execution_tty follows */
	(U32, tty_rows),   /* its size at first; 0: unknown */
	(U32, tty_columns),
	(OPT, profile, IPC_NAME_MAX),               /* empty: the default one */
	(OPT, cwd, IPC_PATH_MAX),                   /* empty: the profile's */
	(BYTES, argv, IPC_ARGV_MAX),                /* NUL after each argument */
	(BYTES, environment, IPC_ENVIRONMENT_MAX)); /* NUL after each K=V; added to the profile's */

/* fd: the code, sealed */
IPC_MESSAGE(code_start,
	(HEAD, OPT), (U32, timeout_ms), (U32, no_hosts),
	(OPT, profile, IPC_NAME_MAX), /* empty: the default one */
	(STR, language, IPC_NAME_MAX), (OPT, cwd, IPC_PATH_MAX),
	(BYTES, argv, IPC_ARGV_MAX), /* the program's arguments; may be empty */
	(BYTES, environment, IPC_ENVIRONMENT_MAX));

IPC_MESSAGE(execution_end,
	(U64, request),
	(U32, reason)); /* enum end_reason */

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
IPC_MESSAGE(execution_signal,
	(U64, request),
	(U32, signal)); /* one of IPC_SIGNALS */

/* Let it run so long from now on, if its time limit comes earlier; at most the maximum of its
 * profile from its start. Answered by execution_extended, unless it has ended. */
IPC_MESSAGE(execution_extend, (U64, request), (U32, wall_ms));

IPC_MESSAGE(execution_extended,
	(U64, request),
	(U64, wall_ms)); /* as in execution_started */

/* fds: stdin write end, stdout read end, stderr read end. Sent at once, before the workload runs.
 */
IPC_MESSAGE(execution_started,
	(U64, request),
	(U64, output_bytes), /* the profile's limit; beyond it the frontend ends it. 0: none */
	(U64, log_bytes),    /* how much of its output the frontend keeps for reading later */
	(U64, wall_ms),      /* it is killed when it runs that long from now on; 0: never */
	/* id of the one that lasts in which it runs; empty: a new one */
	(OPT, sandbox, IPC_ID_MAX),
	(OPT, profile, IPC_NAME_MAX)); /* the sandbox's */

/* fd: the terminal's master side */
IPC_MESSAGE(execution_tty,
	(U64, request),
	(U64, output_bytes), /* this and the next: as in execution_started */
	(U64, log_bytes), (U64, wall_ms),
	(OPT, sandbox, IPC_ID_MAX));

/* clang-format on */

#endif
