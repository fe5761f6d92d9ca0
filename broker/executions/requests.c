/* SPDX-License-Identifier: Apache-2.0 */
#include "executions/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_persistent.h"
#include "executions/share.h"
#include "lib/heap/chain.h"
#include "lib/heap/memory.h"

struct request_pending {
	struct request_pending *next;
	uint64_t number;
	unsigned int answers; /* answers that may come: a bit for each enum answer_kind */
	unsigned int last;    /* last answers, which complete the request */
	uint32_t principal;   /* the requester, even if its waiter has left */
	struct asked *asked;  /* NULL: its waiter has left */
};

struct requests {
	struct supervisor_client *client;
	struct request_pending *first;
	unsigned int count;
	unsigned int changes_count;
};

#define BIT(kind) (1U << ANSWER_##kind)

/* A refusal or the loss of the supervisor completes any request. */
#define ENDS (BIT(REFUSED) | BIT(LOST))

struct requests *requests_new(struct supervisor_client *client)
{
	struct requests *requests = memory_get_zeroed(1, sizeof(*requests));

	requests->client = client;
	return requests;
}

static bool is_about_changes(const struct request_pending *pending)
{
	return (pending->last & BIT(CHANGES_DONE)) != 0;
}

/* Take a request out of the table; its waiter may ask again. */
static void drop_request(struct requests *requests, struct request_pending *pending)
{
	CHAIN_REMOVE(requests->first, pending, next);
	requests->count--;
	requests->changes_count -= is_about_changes(pending);
	if (pending->asked)
		pending->asked->pending = NULL;
	free(pending);
}

struct requests *requests_free(struct requests *requests)
{
	if (!requests)
		return NULL;
	while (requests->first)
		drop_request(requests, requests->first);
	free(requests);
	return NULL;
}

/* --- requests -------------------------------------------------------------------------- */

/* Count the principal's requests; `changes`: only those about changes. */
static unsigned int count_own(const struct requests *requests, uint32_t principal, bool changes)
{
	unsigned int count = 0;

	for (const struct request_pending *p = requests->first; p; p = p->next)
		count += p->principal == principal && (!changes || is_about_changes(p));
	return count;
}

static bool has_room(const struct requests *requests, const struct asked *asked, unsigned int last)
{
	const uint32_t principal = asked->principal;

	return share_allows(principal, count_own(requests, principal, false), requests->count,
			    REQUESTS_MAX, 1) &&
	       ((last & BIT(CHANGES_DONE)) == 0 ||
		share_allows(principal, count_own(requests, principal, true),
			     requests->changes_count, REQUESTS_CHANGES_MAX, 1));
}

/* Record the request that was sent with the newest number, unless sending failed. */
static enum asking note_request(struct requests *requests, struct asked *asked,
				unsigned int answers, unsigned int last, int error)
{
	struct request_pending *pending;

	if (error)
		return error == -ENOBUFS ? ASKING_QUEUE_FULL : ASKING_LOST;
	pending = memory_get_zeroed(1, sizeof(*pending));
	pending->number = requests->client->last_request;
	pending->answers = answers | last | ENDS;
	pending->last = last | ENDS;
	pending->principal = asked->principal;
	pending->asked = asked;
	pending->next = requests->first;
	requests->first = pending;
	requests->count++;
	requests->changes_count += is_about_changes(pending);
	asked->pending = pending;
	return ASKING_DONE;
}

/* The answers that may come to a request, and those that complete it, but for ENDS. */
struct expected {
	unsigned int answers, last;
};

static const struct expected expected_of_checkpoint[CHECKPOINT_OPERATION_COUNT] = {
	[CHECKPOINT_SAVE] = { 0, BIT(CHECKPOINT) },
	[CHECKPOINT_LIST] = { BIT(CHECKPOINT), BIT(DONE) },
	[CHECKPOINT_ROLLBACK] = { 0, BIT(DONE) },
	[CHECKPOINT_FORK] = { 0, BIT(SANDBOX) },
	[CHECKPOINT_DELETE] = { 0, BIT(DONE) },
};

static struct expected expected_of(uint32_t type, const void *wanted)
{
	switch (type) {
	case IPC_TYPE_sandbox_new:
		return (struct expected){ 0, BIT(SANDBOX) };
	case IPC_TYPE_sandbox_list:
		return (struct expected){ BIT(SANDBOX), BIT(DONE) };
	case IPC_TYPE_checkpoint_do:
		return expected_of_checkpoint[((const struct ipc_checkpoint_do *)wanted)
						      ->operation];
	case IPC_TYPE_changes_start:
		return (struct expected){ BIT(CHANGES), BIT(CHANGES_DONE) };
	default:
		return (struct expected){ 0, BIT(DONE) };
	}
}

enum asking requests_ask_of(struct requests *requests, uint32_t type, void *wanted, int fd,
			    struct asked *asked)
{
	const struct expected expected = expected_of(type, wanted);
	struct ipc_head *head = wanted;

	if (!has_room(requests, asked, expected.last)) {
		fd_close(&fd);
		return ASKING_TOO_MANY;
	}
	head->request = ++requests->client->last_request;
	return note_request(requests, asked, expected.answers, expected.last,
			    supervisor_request_of(requests->client, type, wanted, fd));
}

void asked_forget(struct asked *asked)
{
	if (!asked->pending)
		return;
	asked->pending->asked = NULL;
	asked->pending = NULL;
}

/* --- answers ----------------------------------------------------------------------- */

static bool take_answer(struct requests *requests, uint64_t number,
			struct supervisor_answer *answer)
{
	struct request_pending *pending = requests->first;
	struct asked *asked;

	while (pending && pending->number != number)
		pending = pending->next;
	if (!pending || (pending->answers & 1U << answer->kind) == 0) {
		fd_close(&answer->records);
		return false;
	}
	asked = pending->asked;
	answer->is_last = (pending->last & 1U << answer->kind) != 0;
	if (answer->is_last)
		drop_request(requests, pending);
	else if (answer->kind == ANSWER_CHANGES)
		pending->answers &= ~BIT(CHANGES);
	if (asked)
		asked->answered(asked, answer);
	else
		fd_close(&answer->records);
	return true;
}

bool requests_on(struct requests *requests, enum answer_kind kind, const void *message, int records)
{
	struct supervisor_answer answer = { .kind = kind, .records = records, .message = message };
	uint64_t request;

	memcpy(&request, message, sizeof(request)); /* each answer begins with it */
	return take_answer(requests, request, &answer);
}

void requests_lose(struct requests *requests)
{
	struct supervisor_answer answer = { .kind = ANSWER_LOST, .records = -1 };

	while (requests->first)
		(void)take_answer(requests, requests->first->number, &answer);
}
