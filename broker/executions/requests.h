/* SPDX-License-Identifier: Apache-2.0
 *
 * What this broker has asked the supervisor about sandboxes that last, and is not answered yet. The
 * numbers are of the same range as those of executions (executions.h), which are asked for there.
 */
#ifndef BROKER_EXECUTIONS_REQUESTS_H
#define BROKER_EXECUTIONS_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "frontend/supervisor_client.h"

/* Unanswered at once, and those among them whose answer comes through a pipe: a change may take
 * CHANGE_STREAM_MAX bytes of memory while it is read. */
#define REQUESTS_MAX 64U
#define REQUESTS_CHANGES_MAX 8U

struct requests;
struct request_pending;

enum answer_kind {
	ANSWER_SANDBOX,
	ANSWER_CHECKPOINT,
	ANSWER_CHANGES,      /* the changes come through `records` */
	ANSWER_CHANGES_DONE, /* all of them have been written */
	ANSWER_DONE,
	ANSWER_REFUSED,
	ANSWER_LOST, /* the supervisor is gone */
	ANSWER_KINDS
};

/* Valid during the call. */
struct supervisor_answer {
	enum answer_kind kind;
	bool is_last; /* nothing follows */
	int records;  /* CHANGES: whoever is given it owns it; -1: there was no room for it */
	union {
		const struct ipc_sandbox_info *sandbox;
		const struct ipc_checkpoint_info *checkpoint;
		const struct ipc_changes_done *changes;
		const struct ipc_execution_refused *refused;
	};
};

/* Part of whoever waits for the answers. With the last one it waits no longer, and may ask the next
 * thing. */
struct asked {
	void (*answered)(struct asked *asked, const struct supervisor_answer *answer);
	uint32_t principal;              /* for whom, see share.h */
	struct request_pending *pending; /* NULL: nothing is asked */
};

enum asking {
	ASKING_DONE,
	ASKING_TOO_MANY,   /* REQUESTS_MAX or REQUESTS_CHANGES_MAX are unanswered, or its share of
			      them */
	ASKING_QUEUE_FULL, /* the supervisor is behind */
	ASKING_LOST,       /* the supervisor cannot be reached */
};

/* `queued` as in executions.h. */
struct requests *requests_new(struct supervisor_client *client, void (*queued)(void *context),
			      void *context);

/* Nobody is told anything any more. Returns NULL. */
struct requests *requests_free(struct requests *requests);

/* Ask. The message's request number is filled in. `chosen`, a sealed memfd, is taken whatever comes
 * back. What is asked is not answered before the event loop goes on. */
enum asking requests_sandbox_new(struct requests *requests, struct ipc_sandbox_new *wanted,
				 struct asked *asked);
enum asking requests_sandbox_list(struct requests *requests, struct ipc_sandbox_list *wanted,
				  struct asked *asked);
enum asking requests_sandbox_end(struct requests *requests, struct ipc_sandbox_end *wanted,
				 struct asked *asked);
enum asking requests_checkpoint_do(struct requests *requests, struct ipc_checkpoint_do *wanted,
				   struct asked *asked);
enum asking requests_changes_start(struct requests *requests, struct ipc_changes_start *wanted,
				   int chosen, struct asked *asked);

/* Nobody waits for the answers any more; what was asked for is done all the same. May be called
 * when nothing is asked. */
void asked_forget(struct asked *asked);

/* The supervisor's answers. False: it answered what was not asked here. */
bool requests_on_sandbox(struct requests *requests, const struct ipc_sandbox_info *info);
bool requests_on_checkpoint(struct requests *requests, const struct ipc_checkpoint_info *info);
bool requests_on_done(struct requests *requests, const struct ipc_request_done *done);
bool requests_on_changes(struct requests *requests, const struct ipc_changes_started *started,
			 int records);
bool requests_on_changes_done(struct requests *requests, const struct ipc_changes_done *done);
bool requests_on_refused(struct requests *requests, const struct ipc_execution_refused *refused);

/* The supervisor is gone: whoever waits is told. */
void requests_lose(struct requests *requests);

#endif
