/* SPDX-License-Identifier: Apache-2.0
 *
 * The outcome of one `msp run` or `msp exec`, and its words for a person, a shell and a program.
 */
#ifndef CLI_SHOW_OUTCOME_H
#define CLI_SHOW_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ipc/ipc.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_posture.h"
#include "common/ipc/ipc_refused.h"
#include "frontend/network_watch.h"
#include "frontend/timings.h"
#include "show/capture.h"

/* The end of what a stream carried; size 0: it carried nothing, or is not known. */
struct outcome_tail {
	const void *bytes;
	size_t size;
};

struct outcome {
	bool is_welcome; /* this and the next two are known */
	char default_profile[IPC_NAME_MAX];
	uint32_t landlock_abi;
	uint32_t limits;                 /* enum limits_mode */
	int plan;                        /* sealed, the caller's to close; -1 for none */
	struct ipc_posture_full posture; /* the profile's, once a sandbox of it was probed */

	char profile[IPC_NAME_MAX]; /* the persistent sandbox's; empty: not known */

	uint32_t turned_away; /* instead of the welcome: enum client_end_reason; 0: not */

	bool is_done;
	struct ipc_execution_done done;
	struct network_denials network; /* meanwhile */
	struct timings timings;         /* once that and all of its output came */
	struct outcome_tail errors;     /* standard error, or all that a terminal got */
	struct outcome_tail output;     /* standard output, if that is a terminal */

	bool is_refused;
	struct ipc_execution_refused refused;

	const char *workspace; /* id of the sandbox with the changes of a run over a project, "" for
				* one that was removed; NULL: it is no such run */
	uint64_t changes;      /* changed files of that sandbox */

	int signal;             /* the signal that ended msp itself, 0 for none */
	bool is_reader_gone;    /* no process reads our stdout or stderr any more */
	const char *relay_name; /* the stream that failed, NULL for none */
	int relay_error;
	bool is_supervisor_gone; /* it ended before the rest */
	bool is_service;         /* it is the user's, not a child of ours */
	int supervisor_status;   /* a gone child's, as wait(2) gives it */
	enum ipc_error wrong;    /* how the supervisor broke the protocol */
};

/* The request, as far as the texts need it. */
struct outcome_request {
	const char *command;
	const char *line;    /* the command with its arguments, for hints, as far as it fits */
	const char *profile; /* empty: the default one */
	bool no_hosts;       /* without its hosts */
	bool is_variable;    /* MSP_DEFAULT_PROFILE named it */
	const char *sandbox; /* persistent; NULL: a new one, gone with the command */
	const char *cwd;     /* NULL: the profile's */
	uint32_t timeout_ms; /* 0: the profile's */
	const char *holder;  /* as holder_describe() says it; NULL: not known */
};

int outcome_exit_code(const struct outcome *outcome);

/* Return the name of the sandbox's profile, as far as it is known; static storage until the next
 * call. */
const char *outcome_profile(const struct outcome *outcome, const struct outcome_request *request);

/* One line on stderr when there is something unusual to say. */
void outcome_explain(const struct outcome *outcome, const struct outcome_request *request);

/* --verbose: what is enforced, and how it ended. */
void outcome_print_posture(const struct outcome *outcome, const struct outcome_request *request);
void outcome_print_measured(const struct outcome *outcome);
void outcome_print_end(const struct outcome *outcome);

/* --timings: one line, if there is something to tell. */
void outcome_print_timings(const struct outcome *outcome);

/* --json: one object on stdout. 0 or -errno. `captures`: stdout and stderr. */
int outcome_print_json(const struct outcome *outcome, const struct outcome_request *request,
		       struct capture captures[2]);

/* Say on stderr if an execution, which may still run for `wall_ms` (0: without end), has less time
 * than its request wanted. msp began with the request at `launched_us`, by clock_now_us(). */
void outcome_note_limit(const struct outcome_request *request, uint64_t launched_us,
			uint64_t wall_ms);

#endif
