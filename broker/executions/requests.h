/* SPDX-License-Identifier: Apache-2.0
 *
 * The requests to the supervisor about persistent sandboxes that have no complete answer yet.
 * Their numbers share a range with the requests of executions.h.
 */
#ifndef BROKER_EXECUTIONS_REQUESTS_H
#define BROKER_EXECUTIONS_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "frontend/supervisor_client.h"

struct ipc_changes_done;
struct ipc_checkpoint_info;
struct ipc_execution_refused;
struct ipc_sandbox_info;

/* Bounds of the requests in progress, and of those whose answer comes through a pipe: reading one
 * change may take CHANGE_STREAM_MAX bytes of memory. */
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
	bool is_last; /* no further answer follows */
	int records;  /* CHANGES: the callee owns it; -1: there was no room for it */
	union {
		const void *message;
		const struct ipc_sandbox_info *sandbox;
		const struct ipc_checkpoint_info *checkpoint;
		const struct ipc_changes_done *changes;
		const struct ipc_execution_refused *refused;
	};
};

/* Embedded in the structure of a waiter. After the last answer it may send its next request. */
struct asked {
	void (*answered)(struct asked *asked, const struct supervisor_answer *answer);
	uint32_t principal;              /* the requester, see share.h */
	struct request_pending *pending; /* NULL: no request is in progress */
};

enum asking {
	ASKING_DONE,
	ASKING_TOO_MANY,   /* REQUESTS_MAX or REQUESTS_CHANGES_MAX, or the principal's share, is
			      reached */
	ASKING_QUEUE_FULL, /* the queue to the supervisor is full */
	ASKING_LOST,       /* the supervisor cannot be reached */
};

/* Make a table. */
struct requests *requests_new(struct supervisor_client *client);

/* Free the table without further answers. Returns NULL. */
struct requests *requests_free(struct requests *requests);

/* Send a request that begins with a head, about sandboxes or bridges; its number is filled in.
 * `fd`, the descriptor that the message's row wants, or -1, is taken whatever is returned. No
 * answer comes before the event loop goes on. */
enum asking requests_ask_of(struct requests *requests, uint32_t type, void *wanted, int fd,
			    struct asked *asked);

/* Stop waiting for the answers; the supervisor completes the request all the same. Allowed without
 * a request. */
void asked_forget(struct asked *asked);

/* Handle the supervisor's answer `message`, the struct of the kind. `records`: CHANGES: the read
 * end of its pipe; else -1. False: it answered a request that was not made here. */
bool requests_on(struct requests *requests, enum answer_kind kind, const void *message,
		 int records);

/* Answer every waiter with ANSWER_LOST: the supervisor is gone. */
void requests_lose(struct requests *requests);

#endif
