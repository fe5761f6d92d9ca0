/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations that only the files of the executions share: executions.c (the table and the
 * supervisor's answers), execution_streams.c (pipes and terminals, and requests about an execution
 * that runs), execution_kept.c (kept logs and their age, and limits on the number of executions).
 */
#ifndef BROKER_EXECUTIONS_EXECUTION_PARTS_H
#define BROKER_EXECUTIONS_EXECUTION_PARTS_H

#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_done.h"
#include "executions/executions.h"
#include "frontend/network_watch.h"
#include "lib/heap/buffer.h"

struct execution_watches {
	struct execution_watch *first;
};

struct stream {
	int fd;
	struct event *event;
	struct execution *execution;
	enum output_stream which;
};

struct execution {
	struct execution_info info;
	struct executions *executions;
	struct execution *previous, *next; /* in the order of their start */
	struct execution_watches watches;
	uint64_t request;
	bool is_abandoned;   /* discarded, but the supervisor has not reported its end yet */
	uint32_t wanted_ms;  /* by the last execution_extend() */
	uint32_t extensions; /* without an answer */
	bool is_draining;    /* ended; its pipes may still hold output */
	bool is_end_asked;   /* the supervisor was asked to end it */
	bool is_lost;        /* it ran, but the broker had no room for its streams */
	bool is_removed;     /* out of the table; freed when no notification is in progress */
	uint32_t notifying;
	struct stream streams[OUTPUT_STREAMS];
	int network; /* the question for its refusals, or -1 */
	struct event *network_event;
	struct network_denials *network_denials; /* large, and rarely there */
	int input_fd;                            /* for a terminal, the descriptor of its stream */
	struct event *input_event;
	struct buffer input;
	size_t input_written;
	bool ends_input; /* close the input when the rest is written */
	struct event *drain_timer;
	struct ipc_execution_done done;
	struct ipc_execution_refused *refused; /* large, and rarely there */
	uint64_t output_left;                  /* bytes left of the profile's output limit */
	uint64_t asked_us;
	int64_t used_ms; /* time of the last lookup */
};

/* A walk along a list of watches that tolerates the removal of any watch. */
struct execution_walk {
	struct execution_watch *next;
	struct execution_walk *outer;
};

struct executions {
	struct event_base *base;
	struct supervisor_client *client;
	uint32_t last_number; /* last number given to an execution in a persistent sandbox */
	size_t input_bytes;
	size_t live_max;
	size_t live_count;
	size_t kept_count;
	struct execution *first, *last;
	struct execution_watches watches;
	struct event *expiry;
};

/* --- executions.c --- */

void execution_notify(struct execution *execution, enum execution_event event);

/* Check, after a change of its streams, whether the execution is over. */
void execution_streams_changed(struct execution *execution);

/* --- execution_streams.c --- */

/* Ask the supervisor to end an execution, once. */
void execution_ask_end(struct execution *execution, enum end_reason reason);

void execution_streams_init(struct execution *execution, const struct execution_order *order);
/* Ask for what was refused in the network of an execution, which is over when that has come. */
void execution_ask_network(struct execution *execution);
void execution_open_pipes(struct execution *execution, const int fds[3]);
void execution_open_terminal(struct execution *execution, int terminal);
bool execution_streams_closed(const struct execution *execution);
void execution_close_streams(struct execution *execution);
void execution_close_input(struct execution *execution);

/* --- execution_kept.c --- */

/* Make room for the newest output among its principal's logs and ended executions. */
void executions_fit_logs(struct executions *executions, const struct execution *newest);
void executions_fit_kept(struct executions *executions, const struct execution *newest);

/* Return EXECUTION_START_DONE if the order's principal may have one more execution, or the reason
 * against it. */
enum execution_start execution_room(const struct executions *executions,
				    const struct execution_order *order);

/* Return true if `size` more bytes may wait for the inputs of this principal's executions. */
bool execution_room_for_input(const struct executions *executions, uint32_t principal, size_t size);

#endif
