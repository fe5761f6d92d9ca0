/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the executions share: executions.c (the table and the supervisor's answers),
 * execution_streams.c (pipes and terminals), execution_kept.c (what is kept, and for how long),
 * execution_room.c (how many there may be).
 * Nobody else includes this.
 */
#ifndef BROKER_EXECUTIONS_EXECUTION_PARTS_H
#define BROKER_EXECUTIONS_EXECUTION_PARTS_H

#include "executions/executions.h"
#include "io/buffer.h"

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
	bool is_abandoned; /* discarded, but the supervisor has not said yet that it is over */
	bool is_draining;  /* done; its pipes may still hold output */
	bool is_end_asked; /* of the supervisor */
	bool is_lost;      /* it ran without us: no room for its streams */
	bool is_removed;   /* from the table; freed when nobody is being notified */
	uint32_t notifying;
	struct stream streams[OUTPUT_STREAMS];
	int input_fd; /* a terminal's is that of its stream */
	struct event *input_event;
	struct buffer input;
	size_t input_written;
	bool ends_input; /* when the rest is written */
	struct event *drain_timer;
	struct ipc_execution_done done;
	struct ipc_execution_refused *refused; /* large, and rarely there */
	uint64_t output_left;                  /* of the profile's limit */
	uint64_t asked_us;
	int64_t used_ms; /* when it was last asked for */
};

/* A walk along a list of watches, so that any of them can go meanwhile. */
struct execution_walk {
	struct execution_watch *next;
	struct execution_walk *outer;
};

struct executions {
	struct event_base *base;
	struct supervisor_client *client;
	void (*queued)(void *context);
	void *context;
	uint32_t last_number; /* of the executions in sandboxes that last, all together */
	size_t input_bytes;
	size_t live_max;
	size_t live_count;
	size_t kept_count;
	struct execution *first, *last;
	struct execution_watches watches;
	struct event *expiry;
};

/* --- executions.c --- */

/* Out of the table, and freed as soon as nobody is being notified of it. */
void execution_remove(struct execution *execution);

void execution_notify(struct execution *execution, enum execution_event event);

/* Have the supervisor end it, once. */
void execution_ask_end(struct execution *execution, enum end_reason reason);

/* Its streams have changed: is it over now? */
void execution_streams_changed(struct execution *execution);

/* --- execution_streams.c --- */

void execution_streams_init(struct execution *execution, const struct execution_order *order);
void execution_open_pipes(struct execution *execution, const int fds[3]);
void execution_open_terminal(struct execution *execution, int terminal);
bool execution_streams_closed(const struct execution *execution);
void execution_close_streams(struct execution *execution);
void execution_close_input(struct execution *execution);

/* --- execution_kept.c --- */

/* Make room for what came last, among what its principal has: logs, and executions that are over.
 */
void executions_fit_logs(struct executions *executions, const struct execution *newest);
void executions_fit_kept(struct executions *executions, const struct execution *newest);

/* --- execution_room.c --- */

/* May the order's principal have one more? DONE, or why not. */
enum execution_start execution_room(const struct executions *executions,
				    const struct execution_order *order);

/* May so much more wait for the inputs of this principal's executions? */
bool execution_room_for_input(const struct executions *executions, uint32_t principal, size_t size);

#endif
