/* SPDX-License-Identifier: Apache-2.0
 *
 * Deferred requests: they wait for a sandbox, for the directory of a workspace, or for their record
 * in the audit log. The request is kept, and its frontend is heard further. The handler runs again
 * when what it waits for has changed, until it answers.
 */
#ifndef SUPERVISOR_RUN_DEFERRED_H
#define SUPERVISOR_RUN_DEFERRED_H

#include <stddef.h>

#include "base/audit.h"
#include "base/state.h"
#include "common/ipc/channel.h"

/*
 * Most deferred requests, each with a descriptor and at most IPC_MESSAGE_MAX bytes. A further one
 * is refused, and so is one that would leave less than a share to others: what its frontend and
 * what its owner has deferred may together be three times what is free.
 */
#define DEFERRED_MAX 128

/* The question about the directory of a request's workspace (workspace.h). */
struct question {
	enum { QUESTION_NONE, QUESTION_ASKED, QUESTION_OPENED, QUESTION_REFUSED } state;
	uint32_t number;
	int fds[3];   /* the directory, the list and git's data that came with it; -1: none */
	char *answer; /* IPC_PATH_MAX bytes: the canonical path, or why not */
};

/*
 * Defer the request that a handler runs for; its descriptor is taken. `owner` is the message's,
 * `sandbox` the one that it is for, or NULL. Without room the request is refused. Returns what the
 * handler shall return: 0, or -errno of the channel.
 */
int deferred_add(struct frontend *frontend, struct channel_message *message, const char *owner,
		 const struct sandbox *sandbox);

/* Refuse the request that a handler runs for, or with REFUSAL_DEFERRED defer it. */
int deferred_refuse(struct frontend *frontend, struct channel_message *message, const char *owner,
		    const struct sandbox *sandbox, enum refusal refusal, const char *detail);

/* Return the question of the request that a handler runs for, ours. */
struct question *deferred_question(void);

/* Return the audit ticket of the request that a handler runs for, ours. */
struct audit_ticket *deferred_ticket(void);

/* Take the answer to a ticket, and run its request again with the next tick. */
void deferred_audited(uint64_t number, int error);

/* Return the asked question with this number (0: any), and run its request again with the next
 * tick. NULL: nobody asks it any more. */
struct question *deferred_asked(uint32_t number);

/* Return whether an earlier request of this frontend waits for the sandbox. If so, the request that
 * a handler runs for has to wait as well. */
bool deferred_is_behind(const struct frontend *frontend, const struct sandbox *sandbox);

/* Return whether any deferred request waits for the sandbox. */
bool deferred_is_awaited(const struct sandbox *sandbox);

/* Run all requests that wait for the sandbox again, with the next tick. */
void deferred_wake(const struct sandbox *sandbox);

/* Drop the frontend's deferred request with this number. False: it has none. */
bool deferred_cancel(const struct frontend *frontend, uint64_t request);

/* Drop all requests of a frontend that has ended. */
void deferred_forget(const struct frontend *frontend);

/* Begin to run the woken request that has waited longest: *ret is its message, and its frontend is
 * returned. NULL: none is due. deferred_end() follows the handler. */
struct frontend *deferred_begin(struct channel_message *ret);
void deferred_end(const struct channel_message *message);

/* End the question and the ticket of a request that was not deferred: the next one must not get
 * their answers. */
void deferred_end_question(void);

/* When a request is to be run again. */
uint64_t deferred_deadline_us(void);

#endif
