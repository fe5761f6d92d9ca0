/* SPDX-License-Identifier: Apache-2.0
 *
 * A conversation with a supervisor: the poll loop over its channel, the signals of msp itself and
 * the descriptors of an owner, which is an execution or questions.
 */
#ifndef CLI_ASK_CONVERSATION_H
#define CLI_ASK_CONVERSATION_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "frontend/supervisor_client.h"
#include "show/outcome.h"

/* Most descriptors of an owner. */
#define CONVERSATION_SLOTS_MAX 10

struct conversation;

/* The owner's part. It begins with its conversation, so that it can be reached from there. */
struct conversation_rules {
	size_t slots;
	/* Fill the slots for poll(2), and do what can be done afterwards. */
	void (*fill)(struct conversation *talk, struct pollfd *entries);
	void (*step)(struct conversation *talk, const struct pollfd *entries);
	void (*take_signal)(struct conversation *talk, int signal);
	bool (*is_over)(const struct conversation *talk);
	/* Return the longest wait in milliseconds, -1 for ever; NULL: for ever. */
	int (*wait_ms)(const struct conversation *talk);
};

struct conversation {
	struct supervisor_client client;
	int signals; /* descriptor of signals_block() */
	struct outcome outcome;
};

/* Take turns until it is over, or the supervisor is gone. */
void conversation_run(struct conversation *talk, const struct conversation_rules *rules);

/* Judge the result of sending a request (-errno). False: it cannot be sent, and the outcome says
 * so. A supervisor that has ended is seen when the channel is read. */
bool conversation_is_sent(struct conversation *talk, int error);

#endif
