/* SPDX-License-Identifier: Apache-2.0
 *
 * The executions that this broker has asked for, while they run and, for a while, when they are
 * over: their pipes or terminal, what is kept of their output, and how they ended. An execution is
 * over when the supervisor said so and its output pipes are empty and closed, or some time after
 * the first.
 *
 * An execution outlives the call that started it. Who wants to know what becomes of one watches it;
 * who wants it again names its handle. What is over and was not discarded is kept until others need
 * the room, or for KEPT_MS after it was last asked for.
 *
 * A workload may hold its own ends of the pipes open for the other direction (through /proc), read
 * what it wrote and fill its own input: nothing here blocks on them or trusts them.
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

/* What all executions together may hold for their standard inputs. */
#define INPUT_BYTES_MAX ((size_t)12 << 20)

/* What is kept of executions that are over: so many of each owner, of all owners (which principals
 * share, see share.h), for so long. */
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

/* Whose an execution is: `session` is 0 where everything of the principal is one. A handle works
 * for the whole principal; lists and ends go by both. */
struct execution_owner {
	uint32_t principal;
	uint64_t session;
};

/* What the texts say about it, cut to size; all showable (see text.h). */
struct execution_label {
	char profile[LABEL_TEXT_MAX];
	char subject[LABEL_TEXT_MAX]; /* the program or the language */
	char cwd[LABEL_TEXT_MAX];     /* as asked for; empty: not given */
	char command[LABEL_TEXT_MAX]; /* for people to tell it from others */
	char sandbox[LABEL_TEXT_MAX]; /* as asked for; empty: one of its own */
};

enum execution_state {
	EXECUTION_ASKED,   /* the supervisor has not answered yet */
	EXECUTION_RUNNING, /* or nearly over */
	EXECUTION_OVER,    /* one of `done` and `refused` is set */
};

/* What is known of an execution. Read only; valid until it is gone. Times are of the monotonic
 * clock, see clock_steady_ms(). */
struct execution_info {
	char sandbox[SANDBOX_ID_CHARS + 1];
	char handle[EXECUTION_HANDLE_MAX + 1];
	uint32_t number; /* within its sandbox */
	bool is_lasting; /* which does not go with it */
	bool is_file;    /* of a file tool: nobody is given its handle, and no list has it */
	struct execution_owner owner;
	struct execution_label label;
	enum execution_state state;
	bool is_terminal;    /* everything it prints is in the stream OUT */
	bool is_input_open;  /* execution_write() may be of use */
	bool is_log_dropped; /* its output had to make room; `total` of the streams still counts */
	int64_t started_ms;
	int64_t ends_ms; /* when its time is over; 0: not known */
	int64_t over_ms;
	struct output_log log; /* its streams */
	const struct ipc_execution_done *done;
	const struct ipc_execution_refused *refused;
	struct timings timings;          /* when it is over */
	uint64_t cursor[OUTPUT_STREAMS]; /* shown so far, for who reads on without an offset */
};

enum execution_event {
	EXECUTION_STARTED, /* the supervisor has it running */
	EXECUTION_PRINTED, /* there is more in its log */
	EXECUTION_ENDED,   /* it is over */
	EXECUTION_GONE,    /* it will not be there any more; nothing follows */
};

/* Part of whoever wants to know. In `notify` every function of this file may be called; a watch
 * that was given GONE is no longer set. */
struct execution_watch {
	void (*notify)(struct execution_watch *watch, struct execution *execution,
		       enum execution_event event);
	struct execution_watch *next;
	struct execution_watches *list; /* NULL: not set */
};

/* What an execution of a file tool may answer: its log keeps so much in any case. */
#define FILE_OUTPUT_MAX ((size_t)1 << 20)

/* What to start: `command`, `code` with the sealed `code_fd`, or `file`. The request number is
 * filled in. */
struct execution_order {
	struct ipc_execution_start *command; /* with a terminal, if it says so */
	struct ipc_code_start *code;
	int code_fd;
	struct ipc_file_start *file;
	const char *input; /* for its standard input, copied */
	size_t input_size;
	bool keeps_input;    /* its input stays open after that; with a terminal it always does */
	const char *sandbox; /* id of the one that lasts; NULL: a new one, gone with it; copied */
	struct execution_owner owner;
	uint64_t asked_us;                   /* when the client did, by clock_now_us() */
	const struct execution_label *label; /* copied */
};

enum execution_start {
	EXECUTION_START_DONE,
	EXECUTION_START_TOO_MANY,   /* EXECUTIONS_MAX are alive */
	EXECUTION_START_SHARE,      /* as many of this principal are (share.h) */
	EXECUTION_START_INPUT_FULL, /* INPUT_BYTES_MAX are waiting, or its share of them */
	EXECUTION_START_QUEUE_FULL, /* the supervisor is behind */
	EXECUTION_START_TOO_LONG,   /* arguments beyond the message's room */
	EXECUTION_START_LOST,       /* the supervisor cannot be reached */
};

enum execution_write {
	EXECUTION_WRITE_DONE,   /* written, or it will be */
	EXECUTION_WRITE_CLOSED, /* it has no input any more */
	EXECUTION_WRITE_FULL,   /* INPUT_BYTES_MAX are waiting, or its principal's share */
};

/* `queued` is called when the supervisor's socket was full: wait until it is writable. */
struct executions *executions_new(struct event_base *base, struct supervisor_client *client,
				  void (*queued)(void *context), void *context);

/* Close everything; nobody is notified any more. Returns NULL. */
struct executions *executions_free(struct executions *executions);

/* The supervisor runs at most so many at once; EXECUTIONS_MAX until this is called. */
void executions_set_most(struct executions *executions, size_t most);

/* Takes `order->code_fd` whatever it returns. Nothing of the execution happens before the event
 * loop goes on. */
enum execution_start executions_start(struct executions *executions,
				      const struct execution_order *order,
				      struct execution **ret_execution);

/* The one with exactly this handle, if it is this principal's; asking makes it stay longer. NULL:
 * there is none, which is all that anybody else learns. */
struct execution *executions_find(struct executions *executions, uint32_t principal,
				  const char *handle, size_t size);

/* All of this owner, the newest first: that one with `newer` NULL; NULL at the end. */
struct execution *executions_older(const struct executions *executions,
				   const struct execution_owner *owner,
				   const struct execution *newer);

const struct execution_info *execution_info(const struct execution *execution);

/* Notify of what happens to this execution, or to all of them. */
void execution_watch(struct execution *execution, struct execution_watch *watch);
void executions_watch(struct executions *executions, struct execution_watch *watch);

/* Notify no longer; may be called for one that is not set. */
void execution_unwatch(struct execution_watch *watch);

/* Say how much of a stream has been shown. */
void execution_set_cursor(struct execution *execution, enum output_stream stream, uint64_t offset);

/* Type: for its standard input or terminal, after what is waiting already. `is_last`: and then it
 * ends; a terminal is sent the character for that. */
enum execution_write execution_write(struct execution *execution, const char *bytes, size_t size,
				     bool is_last);

/* Tell it its terminal's new size; false: it has no terminal (any more). */
bool execution_resize(struct execution *execution, uint32_t rows, uint32_t columns);

/* Send one of IPC_SIGNALS to its process group; false: it is over, or the supervisor is behind. */
bool execution_signal(struct execution *execution, uint32_t signal);

/* Have every process of it killed; its end is notified when it came. */
void execution_kill(struct execution *execution);

/* Nobody wants anything of it any more: kill it if it runs, keep nothing. It is GONE, and the
 * pointer of no further use. */
void execution_discard(struct execution *execution);

/* The same with all of this owner. */
void executions_end_owner(struct executions *executions, const struct execution_owner *owner);

/* Forget those that were kept for long enough by `now_ms`; a timer does it too. */
void executions_expire(struct executions *executions, int64_t now_ms);

/* The supervisor's answers. False: it answered what was not asked, and is not to be trusted. */
bool executions_on_started(struct executions *executions,
			   const struct ipc_execution_started *started, const int fds[3]);
bool executions_on_tty(struct executions *executions, const struct ipc_execution_tty *tty,
		       int terminal);
bool executions_on_refused(struct executions *executions,
			   const struct ipc_execution_refused *refused);
bool executions_on_done(struct executions *executions, const struct ipc_execution_done *done);

/* The supervisor is gone, and every workload with it: each is over with what is known of it. */
void executions_lose(struct executions *executions);

#endif
