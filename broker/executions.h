/* SPDX-License-Identifier: Apache-2.0
 *
 * The executions that this broker has asked for: their pipes, what is kept of their output, and
 * when each is over. An execution is over when the supervisor said so and both output pipes are
 * empty and closed, or some time after the first.
 *
 * A workload may hold its own ends of the pipes open for the other direction (through /proc), read
 * what it wrote and fill its own input: nothing here blocks on them or trusts them.
 */
#ifndef BROKER_EXECUTIONS_H
#define BROKER_EXECUTIONS_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

#include "output.h"
#include "supervisor_client.h"

/* What all executions together may hold for their standard inputs. */
#define INPUT_BYTES_MAX ((size_t)12 << 20)

struct execution;
struct executions;

/* How an execution ended: one of `done` and `refused` is set. Valid during the call. */
struct execution_outcome {
	const struct ipc_execution_done *done;
	const struct ipc_execution_refused *refused;
	const struct output *out;
	const struct output *err;
};

/* Called once for an execution that was started and not cancelled. */
typedef void execution_finished(void *owner, const struct execution_outcome *outcome);

/* What to start: `command`, or `code` with the sealed `code_fd`. The request number is filled in.
 */
struct execution_order {
	struct ipc_execution_start *command;
	struct ipc_code_start *code;
	int code_fd;
	const char *input; /* for its standard input, copied; NULL: closed at once */
	size_t input_size;
	execution_finished *finished;
	void *owner;
};

enum execution_start {
	EXECUTION_STARTED,
	EXECUTION_TOO_MANY,   /* EXECUTIONS_MAX are alive */
	EXECUTION_INPUT_FULL, /* INPUT_BYTES_MAX are waiting */
	EXECUTION_QUEUE_FULL, /* the supervisor is behind */
	EXECUTION_TOO_LONG,   /* arguments beyond the message's room */
	EXECUTION_LOST,       /* the supervisor cannot be reached */
};

/* `queued` is called when the supervisor's socket was full: wait until it is writable. */
struct executions *executions_new(struct event_base *base, struct supervisor_client *client,
				  void (*queued)(void *context), void *context);

/* Close everything; nothing is called any more. Returns NULL. */
struct executions *executions_free(struct executions *executions);

/* Takes `order->code_fd` whatever it returns. */
enum execution_start executions_start(struct executions *executions,
				      const struct execution_order *order,
				      struct execution **ret_execution);

/* Have it killed. Its `finished` will not be called; the pointer is of no further use. */
void executions_cancel(struct executions *executions, struct execution *execution);

/* The supervisor's answers. False: it answered what was not asked, and is not to be trusted. */
bool executions_on_started(struct executions *executions,
			   const struct ipc_execution_started *started, const int fds[3]);
bool executions_on_refused(struct executions *executions,
			   const struct ipc_execution_refused *refused);
bool executions_on_done(struct executions *executions, const struct ipc_execution_done *done);

/* The supervisor is gone, and every workload with it: finish each with what is known of it. */
void executions_lose(struct executions *executions);

#endif
