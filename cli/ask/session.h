/* SPDX-License-Identifier: Apache-2.0
 *
 * One execution from the frontend's side, live: the workload's streams between the sandbox and the
 * caller, the caller's signals and terminal, until the end.
 */
#ifndef CLI_ASK_SESSION_H
#define CLI_ASK_SESSION_H

#include <stdbool.h>

#include "ask/taker.h"
#include "frontend/supervisor_client.h"
#include "show/outcome.h"

struct ipc_execution_start;
struct ipc_welcome;

/* A conversation that has begun already: the session takes part in it, and leaves it open. */
struct session_joined {
	struct supervisor_client *client;
	const struct ipc_welcome *welcome;
	int plan; /* the outcome's from now on */
};

struct session_options {
	bool use_tty;       /* the caller's stdin and stdout are a terminal */
	bool is_shell;      /* a person's: its end is not that of one command */
	uint32_t limits;    /* enum limits_mode that is accepted */
	uint32_t answer_ms; /* the longest wait for the supervisor's welcome; 0: for ever */
	bool is_verbose;
	uint64_t launched_us;                /* when msp began with it, by clock_now_us() */
	const struct session_joined *joined; /* NULL: the session says hello */
	const struct session_taker *taker;   /* NULL: the output goes to the caller */
};

/*
 * Ask the supervisor on `channel` for the execution and see it through. The outcome is complete
 * when this returns, but for supervisor_status; the supervisor may still be clearing up. Without
 * a welcome in it nothing was started, and nothing read of the caller's input. The sandbox in
 * `start` may be the beginning of an id, which is completed there. The session's requests have the
 * number in `start` and the next one.
 */
struct outcome session_run(const struct session_options *options, int channel, int signals,
			   struct ipc_execution_start *start,
			   const struct outcome_request *request);

#endif
