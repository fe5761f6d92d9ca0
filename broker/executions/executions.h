/* SPDX-License-Identifier: Apache-2.0
 *
 * The executions of this broker: their pipes or terminal, the kept part of their output, and their
 * end. An execution is over when the supervisor said so and its output pipes are empty and closed,
 * or some time after the supervisor said so.
 *
 * An execution outlives the call that started it. A caller watches it to learn of its events, and
 * finds it again by its handle. An execution that is over and was not discarded is kept until
 * others need the room, or for KEPT_MS after its last lookup.
 *
 * A workload may hold its own ends of the pipes open for the other direction (through /proc), read
 * its own output and fill its own input: nothing here blocks on the pipes or trusts them.
 */
#ifndef BROKER_EXECUTIONS_EXECUTIONS_H
#define BROKER_EXECUTIONS_EXECUTIONS_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frontend/supervisor_client.h"
#include "frontend/timings.h"
#include "io/output.h"
#include "io/random_id.h"

struct ipc_execution_done;
struct network_denials;
struct ipc_execution_extended;
struct ipc_execution_refused;
struct ipc_execution_started;
struct ipc_execution_tty;
struct ipc_head;

/* The most bytes that may wait for the standard inputs of all executions. */
#define INPUT_BYTES_MAX ((size_t)12 << 20)

/* Bounds of the executions that are kept after their end: of one owner, of all owners (shared among
 * principals, see share.h), and the time. */
#define KEPT_PER_OWNER 256U
#define KEPT_MAX 2048U
#define KEPT_MS ((int64_t)60 * 60 * 1000)

/* A sandbox's id: 128 random bits, Crockford's base 32 in lower case. */
#define SANDBOX_ID_CHARS RANDOM_ID_CHARS

/* The id, '-', a number. */
#define EXECUTION_HANDLE_MAX (SANDBOX_ID_CHARS + 12)

#define LABEL_TEXT_MAX 256

struct execution;
struct executions;

/* The owner of an execution; `session` is 0 where a principal has no sessions. A handle works for
 * the whole principal; lists and ends go by both. */
struct execution_owner {
	uint32_t principal;
	uint64_t session;
};

bool execution_owner_is(const struct execution_owner *owner, const struct execution_owner *other);

/* The texts that describe an execution, cut to size; all showable (see text.h). */
struct execution_label {
	char profile[LABEL_TEXT_MAX];
	char subject[LABEL_TEXT_MAX]; /* the program or the language */
	char cwd[LABEL_TEXT_MAX];     /* as requested; empty: not given */
	char command[LABEL_TEXT_MAX]; /* shown to people to tell executions apart */
	char sandbox[LABEL_TEXT_MAX]; /* as requested; empty: an ephemeral sandbox */
};

enum execution_state {
	EXECUTION_ASKED,   /* the supervisor has not answered yet */
	EXECUTION_RUNNING, /* also while it is ending */
	EXECUTION_OVER,    /* one of `done` and `refused` is set */
};

/* The state of an execution. Read only; valid until it is gone. Times are of the monotonic clock,
 * see clock_steady_ms(). */
struct execution_info {
	char sandbox[SANDBOX_ID_CHARS + 1];
	char handle[EXECUTION_HANDLE_MAX + 1];
	uint32_t number;    /* within its sandbox */
	bool is_persistent; /* its sandbox is persistent */
	bool is_file; /* it belongs to a file tool: its handle is given to no client, and no list
			 has it */
	struct execution_owner owner;
	struct execution_label label;
	enum execution_state state;
	bool is_terminal;    /* all its output is in the stream OUT */
	bool is_input_open;  /* execution_write() may succeed */
	bool is_log_dropped; /* its output was dropped to make room; `total` of the streams still
				counts */
	int64_t started_ms;
	uint64_t limit_ms;  /* its time limit as asked for, or as moved; 0: the profile's default */
	int64_t ends_ms;    /* when its time limit expires; 0: not known */
	bool has_most_time; /* ... which is the last that the profile allows */
	int64_t over_ms;
	struct output_log log; /* output of its streams */
	const struct ipc_execution_done *done;
	const struct ipc_execution_refused *refused;
	const struct network_denials *network; /* refused meanwhile; NULL: nothing was */
	struct timings timings;                /* set when it is over */
	uint64_t cursor[OUTPUT_STREAMS];       /* shown so far, for a reader that gives no offset */
};

enum execution_event {
	EXECUTION_STARTED,  /* the supervisor runs it */
	EXECUTION_EXTENDED, /* the supervisor answered execution_extend(): `ends_ms` holds */
	EXECUTION_PRINTED,  /* its log has grown */
	EXECUTION_ENDED,    /* it is over */
	EXECUTION_GONE,     /* the execution is removed; no further event follows */
};

/* Embedded in the structure of a watcher. `notify` may call every function of this file; a watch
 * that was given GONE is no longer set. */
struct execution_watch {
	void (*notify)(struct execution_watch *watch, struct execution *execution,
		       enum execution_event event);
	struct execution_watch *next;
	struct execution_watches *list; /* NULL: not set */
};

/* The most bytes that an execution of a file tool may answer; its log keeps them in any case. */
#define FILE_OUTPUT_MAX ((size_t)4 << 20)

/* The execution to start. */
struct execution_order {
	uint32_t type; /* IPC_TYPE_execution_start, IPC_TYPE_code_start or IPC_TYPE_file_start */
	struct ipc_head *wanted; /* the message of that type; its request number is filled in */
	char *profile;           /* in the message; NULL for a file */
	int code_fd;             /* the sealed code, or -1 */
	uint32_t timeout_ms;     /* the message's; 0: the profile's default */
	bool is_terminal;
	const char *input; /* for its standard input; copied */
	size_t input_size;
	bool keeps_input;    /* its input stays open after that; that of a terminal always does */
	const char *sandbox; /* id of a persistent sandbox; NULL: an ephemeral one; copied */
	struct execution_owner owner;
	uint64_t asked_us;                   /* when the client asked, by clock_now_us() */
	const struct execution_label *label; /* copied */
};

enum execution_start {
	EXECUTION_START_DONE,
	EXECUTION_START_TOO_MANY,   /* EXECUTIONS_MAX are alive */
	EXECUTION_START_SHARE,      /* the principal has its share of them (share.h) */
	EXECUTION_START_INPUT_FULL, /* INPUT_BYTES_MAX bytes are waiting, or the principal's share
				       of them */
	EXECUTION_START_QUEUE_FULL, /* the queue to the supervisor is full */
	EXECUTION_START_TOO_LONG,   /* the arguments exceed the message's size */
	EXECUTION_START_LOST,       /* the supervisor cannot be reached */
};

enum execution_write {
	EXECUTION_WRITE_DONE,   /* written or queued */
	EXECUTION_WRITE_CLOSED, /* its input is closed */
	EXECUTION_WRITE_FULL, /* INPUT_BYTES_MAX bytes are waiting, or the principal's share of them
			       */
};

/* Make a table. */
struct executions *executions_new(struct event_base *base, struct supervisor_client *client);

/* Close everything without further notifications. Returns NULL. */
struct executions *executions_free(struct executions *executions);

/* Set how many executions the supervisor runs at once; EXECUTIONS_MAX until this is called. */
void executions_set_most(struct executions *executions, size_t most);

/* Start an execution. Takes `order->code_fd` whatever it returns. No event of the execution happens
 * before the event loop goes on. */
enum execution_start executions_start(struct executions *executions,
				      const struct execution_order *order,
				      struct execution **ret_execution);

/* Find the execution with exactly this handle and renew its time to be kept. NULL: this principal
 * has none; other principals' handles look the same. */
struct execution *executions_find(struct executions *executions, uint32_t principal,
				  const char *handle, size_t size);

/* Walk through an owner's executions, the newest first: pass NULL to begin; NULL at the end. */
struct execution *executions_older(const struct executions *executions,
				   const struct execution_owner *owner,
				   const struct execution *newer);

const struct execution_info *execution_info(const struct execution *execution);

/* Notify of the events of this execution, or of all executions. */
void execution_watch(struct execution *execution, struct execution_watch *watch);
void executions_watch(struct executions *executions, struct execution_watch *watch);

/* Stop notifying; allowed for a watch that is not set. */
void execution_unwatch(struct execution_watch *watch);

/* Record how much of a stream has been shown. */
void execution_set_cursor(struct execution *execution, enum output_stream stream, uint64_t offset);

/* Write to its standard input or terminal, after the bytes that wait already. `is_last` closes the
 * input then; a terminal is sent the end-of-transmission character. */
enum execution_write execution_write(struct execution *execution, const char *bytes, size_t size,
				     bool is_last);

/* Set the size of its terminal. False: it has no terminal, or no longer. */
bool execution_resize(struct execution *execution, uint32_t rows, uint32_t columns);

/* Send one of IPC_SIGNALS to its process group. False: it is over, or the queue to the supervisor
 * is full. */
bool execution_signal(struct execution *execution, uint32_t signal);

/* Ask the supervisor to let it run at least so long from now; EXECUTION_EXTENDED or its end
 * follows. False: it does not run, or the queue is full. */
bool execution_extend(struct execution *execution, uint32_t wall_ms);

/* Have all its processes killed; its end is notified when the supervisor reports it. */
void execution_kill(struct execution *execution);

/* Kill it if it runs and keep no output. It is GONE, and the pointer is invalid afterwards. */
void execution_discard(struct execution *execution);

/* Discard all executions of an owner. */
void executions_end_owner(struct executions *executions, const struct execution_owner *owner);

/* Remove the executions whose time to be kept ended by `now_ms`; a timer does it too. */
void executions_expire(struct executions *executions, int64_t now_ms);

/* Handle the supervisor's answers. False: it answered a request that was not made, and cannot be
 * trusted. */
bool executions_on_started(struct executions *executions,
			   const struct ipc_execution_started *started, const int fds[3]);
bool executions_on_tty(struct executions *executions, const struct ipc_execution_tty *tty,
		       int terminal);
bool executions_on_refused(struct executions *executions,
			   const struct ipc_execution_refused *refused);
bool executions_on_extended(struct executions *executions,
			    const struct ipc_execution_extended *extended);
bool executions_on_done(struct executions *executions, const struct ipc_execution_done *done);

/* End every execution with its known state: the supervisor and every workload are gone. */
void executions_lose(struct executions *executions);

#endif
