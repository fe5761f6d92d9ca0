/* SPDX-License-Identifier: Apache-2.0
 *
 * The streams of a session: the workload's ends, the caller's, and the terminal of either.
 */
#ifndef CLI_ASK_SESSION_STREAMS_H
#define CLI_ASK_SESSION_STREAMS_H

#include "ask/conversation.h"
#include "ask/relay.h"
#include "ask/session.h"
#include "ask/terminal.h"
#include "common/clock.h"
#include "common/ipc/ipc_posture.h"
#include "options/sandbox_search.h"

struct ipc_execution_tty;

#define NO_DEADLINE UINT64_MAX

enum stream {
	STREAM_STDIN,
	STREAM_STDOUT,
	STREAM_STDERR,
	STREAM_COUNT,
};

/* The slots of the streams' two ends are before it. */
#define HOLDER_SLOT (2 * (size_t)STREAM_COUNT)

/* Why the sandboxes that there are were asked for. */
enum listing {
	LISTING_NONE,
	LISTING_SEARCH,  /* which one is meant */
	LISTING_PROFILE, /* under which profile it is */
};

struct session {
	struct conversation talk; /* first */
	const struct session_options *options;
	const struct outcome_request *request;
	struct ipc_execution_start *start;
	enum listing listing;
	bool is_searched;
	struct sandbox_search search;
	struct ipc_profile_posture known; /* the welcome's posture of a profile; may be none */
	struct terminal terminal;
	int fds[STREAM_COUNT]; /* the workload's ends that we hold, or -1 */
	int own[STREAM_COUNT]; /* own openings of the caller's terminal, or -1 */
	struct relay relays[STREAM_COUNT];
	struct relay_tail *shown;   /* the end of the workload's errors */
	struct relay_tail *printed; /* and of what a person has seen of its output */
	uint64_t taken_bytes;
	uint64_t output_bytes; /* the profile's limit, 0: none */
	bool is_held;          /* the taker's holder has the terminal */
	bool is_ending;
	uint64_t deadline_ms; /* for the end, or before it for the welcome */
};

static inline uint64_t session_now_ms(void)
{
	return clock_now_us() / 1000;
}

/* Have the execution killed and wait a little for the report. */
void session_begin_end(struct session *session);

/* End the execution: `name` says which step failed. */
void session_fail(struct session *session, const char *name, int error);

/* Own `own`, the workload's end of a stream, and relay between it and the caller's. */
void session_attach_input(struct session *session, int own);
void session_attach_output(struct session *session, enum stream stream, int own, int callers);

/* Have the taker's holder hold the terminal, which is read here. */
void session_hold(struct session *session, const struct ipc_execution_tty *tty, int terminal);

/* Return the holder of a terminal that there is; NULL: none. */
const struct session_holder *session_holder(const struct session *session);

/* Pass on keys as they are typed once the terminal is ours, which no signal says. */
void session_follow_terminal(struct session *session);

/* Members of struct conversation_rules. */
void session_fill(struct conversation *talk, struct pollfd *entries);
void session_step(struct conversation *talk, const struct pollfd *entries);

#endif
