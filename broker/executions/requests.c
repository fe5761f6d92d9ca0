/* SPDX-License-Identifier: Apache-2.0 */
#include "executions/requests.h"

#include <errno.h>
#include <stdlib.h>

#include "common/fd.h"
#include "common/ipc_bridge.h"
#include "common/ipc_changes.h"
#include "common/ipc_done.h"
#include "common/ipc_persistent.h"
#include "common/ipc_refused.h"
#include "executions/share.h"
#include "frontend/network_grant.h"
#include "frontend/network_watch.h"
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
	void (*queued)(void *context);
	void *context;
	struct request_pending *first;
	unsigned int count;
	unsigned int changes_count;
};

#define BIT(kind) (1U << ANSWER_##kind)

/* A refusal or the loss of the supervisor completes any request. */
#define ENDS (BIT(REFUSED) | BIT(LOST))

struct requests *requests_new(struct supervisor_client *client, void (*queued)(void *context),
			      void *context)
{
	struct requests *requests = memory_get_zeroed(1, sizeof(*requests));

	requests->client = client;
	requests->queued = queued;
	requests->context = context;
	return requests;
}

static bool is_about_changes(const struct request_pending *pending)
{
	return (pending->last & BIT(CHANGES_DONE)) != 0;
}

/* Take a request out of the table; its waiter may ask again. */
static void drop_request(struct requests *requests, struct request_pending *pending)
{
	struct request_pending **link = &requests->first;

	while (*link != pending)
		link = &(*link)->next;
	*link = pending->next;
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

static uint64_t next_number(struct requests *requests)
{
	return ++requests->client->last_request;
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
	if (supervisor_has_queued(requests->client))
		requests->queued(requests->context);
	return ASKING_DONE;
}

enum asking requests_sandbox_new(struct requests *requests, struct ipc_sandbox_new *wanted,
				 struct asked *asked)
{
	if (!has_room(requests, asked, 0))
		return ASKING_TOO_MANY;
	wanted->request = next_number(requests);
	return note_request(requests, asked, 0, BIT(SANDBOX),
			    supervisor_sandbox_new(requests->client, wanted));
}

enum asking requests_sandbox_list(struct requests *requests, struct ipc_sandbox_list *wanted,
				  struct asked *asked)
{
	if (!has_room(requests, asked, 0))
		return ASKING_TOO_MANY;
	wanted->request = next_number(requests);
	return note_request(requests, asked, BIT(SANDBOX), BIT(DONE),
			    supervisor_sandbox_list(requests->client, wanted));
}

enum asking requests_sandbox_end(struct requests *requests, struct ipc_sandbox_end *wanted,
				 struct asked *asked)
{
	if (!has_room(requests, asked, 0))
		return ASKING_TOO_MANY;
	wanted->request = next_number(requests);
	return note_request(requests, asked, 0, BIT(DONE),
			    supervisor_sandbox_end(requests->client, wanted));
}

/* By operation: the answers that may come, and the answer that completes it. */
static const struct {
	unsigned int answers, last;
} checkpoint_answers[CHECKPOINT_OPERATION_COUNT] = {
	[CHECKPOINT_SAVE] = { 0, BIT(CHECKPOINT) },
	[CHECKPOINT_LIST] = { BIT(CHECKPOINT), BIT(DONE) },
	[CHECKPOINT_ROLLBACK] = { 0, BIT(DONE) },
	[CHECKPOINT_FORK] = { 0, BIT(SANDBOX) },
	[CHECKPOINT_DELETE] = { 0, BIT(DONE) },
};

enum asking requests_checkpoint_do(struct requests *requests, struct ipc_checkpoint_do *wanted,
				   struct asked *asked)
{
	if (!has_room(requests, asked, 0))
		return ASKING_TOO_MANY;
	wanted->request = next_number(requests);
	return note_request(requests, asked, checkpoint_answers[wanted->operation].answers,
			    checkpoint_answers[wanted->operation].last,
			    supervisor_checkpoint_do(requests->client, wanted));
}

enum asking requests_changes_start(struct requests *requests, struct ipc_changes_start *wanted,
				   int chosen, struct asked *asked)
{
	if (!has_room(requests, asked, BIT(CHANGES_DONE))) {
		fd_close(&chosen);
		return ASKING_TOO_MANY;
	}
	wanted->request = next_number(requests);
	return note_request(requests, asked, BIT(CHANGES), BIT(CHANGES_DONE),
			    supervisor_changes_start(requests->client, wanted, chosen));
}

int requests_network_grant(struct requests *requests, const struct ipc_network_watch *watch,
			   const struct ipc_network_grant *grant)
{
	const int fd = network_grant_ask(requests->client, watch, grant);

	if (supervisor_has_queued(requests->client))
		requests->queued(requests->context);
	return fd;
}

int requests_network_look(struct requests *requests, const struct ipc_network_watch *watch)
{
	const int fd = network_look_begin(requests->client, watch);

	if (supervisor_has_queued(requests->client))
		requests->queued(requests->context);
	return fd;
}

enum asking requests_bridge_start(struct requests *requests, struct ipc_bridge_start *wanted,
				  int channel, struct asked *asked)
{
	if (!has_room(requests, asked, 0)) {
		fd_close(&channel);
		return ASKING_TOO_MANY;
	}
	wanted->request = next_number(requests);
	return note_request(requests, asked, 0, BIT(DONE),
			    supervisor_bridge_start(requests->client, wanted, channel));
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

bool requests_on_sandbox(struct requests *requests, const struct ipc_sandbox_info *info)
{
	struct supervisor_answer answer = { .kind = ANSWER_SANDBOX,
					    .records = -1,
					    .sandbox = info };

	return take_answer(requests, info->request, &answer);
}

bool requests_on_checkpoint(struct requests *requests, const struct ipc_checkpoint_info *info)
{
	struct supervisor_answer answer = { .kind = ANSWER_CHECKPOINT,
					    .records = -1,
					    .checkpoint = info };

	return take_answer(requests, info->request, &answer);
}

bool requests_on_done(struct requests *requests, const struct ipc_request_done *done)
{
	struct supervisor_answer answer = { .kind = ANSWER_DONE, .records = -1 };

	return take_answer(requests, done->request, &answer);
}

bool requests_on_changes(struct requests *requests, const struct ipc_changes_started *started,
			 int records)
{
	struct supervisor_answer answer = { .kind = ANSWER_CHANGES, .records = records };

	return take_answer(requests, started->request, &answer);
}

bool requests_on_changes_done(struct requests *requests, const struct ipc_changes_done *done)
{
	struct supervisor_answer answer = { .kind = ANSWER_CHANGES_DONE,
					    .records = -1,
					    .changes = done };

	return take_answer(requests, done->request, &answer);
}

bool requests_on_refused(struct requests *requests, const struct ipc_execution_refused *refused)
{
	struct supervisor_answer answer = { .kind = ANSWER_REFUSED,
					    .records = -1,
					    .refused = refused };

	return take_answer(requests, refused->request, &answer);
}

void requests_lose(struct requests *requests)
{
	struct supervisor_answer answer = { .kind = ANSWER_LOST, .records = -1 };

	while (requests->first)
		(void)take_answer(requests, requests->first->number, &answer);
}
