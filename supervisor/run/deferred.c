/* SPDX-License-Identifier: Apache-2.0 */
#include "run/deferred.h"

#include <string.h>

#include "base/reply.h"
#include "common/fd.h"
#include "common/ipc/refusal.h"
#include "run/sandbox.h"

static struct deferred {
	struct frontend *frontend; /* NULL: the entry is free */
	const struct sandbox *sandbox;
	uint64_t request;
	uint64_t order; /* greater than those of earlier ones */
	uint32_t owner; /* hash of the name */
	bool is_woken;
	bool is_kept; /* its handler has deferred it again */
	struct question question;
	struct audit_ticket ticket;
	int fd;
	size_t size; /* the encoded message's */
} table[DEFERRED_MAX];

/* Apart from the table, which is searched. */
static uint8_t messages[DEFERRED_MAX][IPC_MESSAGE_MAX];
static char answers[DEFERRED_MAX + 1][IPC_PATH_MAX];

static struct deferred *running;
static uint64_t last_order;

/* The question of a request that is not deferred yet. */
static struct question fresh = { .fds = { -1, -1, -1 }, .answer = answers[DEFERRED_MAX] };
static struct audit_ticket fresh_ticket;

/* An entry that may be used for one more; NULL: there is none, or others need it. */
static struct deferred *find_free(const struct frontend *frontend, uint32_t owner)
{
	struct deferred *ret = NULL;
	size_t held = 0, room = 0;

	FOR_EACH (deferred, entry, table, DEFERRED_MAX) {
		if (!entry->frontend)
			ret = entry;
		room += !entry->frontend;
		if (entry->frontend == frontend)
			held += entry->owner == owner ? 2 : 1;
	}
	return held < 3 * room ? ret : NULL;
}

int deferred_add(struct frontend *frontend, struct channel_message *message, const char *owner,
		 const struct sandbox *sandbox)
{
	const uint64_t request = ipc_request(message);
	const uint32_t key = state_key(owner);
	struct deferred *entry = running ? running : find_free(frontend, key);

	if (entry && !running) {
		*entry = (struct deferred){ .frontend = frontend,
					    .request = request,
					    .order = ++last_order,
					    .owner = key,
					    .question = fresh,
					    .ticket = fresh_ticket,
					    .fd = channel_take_fd(message, 0) };
		entry->question.answer = answers[entry - table];
		fresh_ticket.state = AUDIT_TICKET_NONE;
		(void)ipc_encode(message->type, message->body, messages[entry - table],
				 IPC_MESSAGE_MAX, &entry->size); /* it was decoded here */
	}
	if (!entry)
		return reply_refuse(frontend, request, REFUSAL_WAITING, "", 0);
	entry->sandbox = sandbox;
	entry->is_kept = true;
	return 0;
}

int deferred_refuse(struct frontend *frontend, struct channel_message *message, const char *owner,
		    const struct sandbox *sandbox, enum refusal refusal, const char *detail)
{
	return refusal == REFUSAL_DEFERRED
		       ? deferred_add(frontend, message, owner, sandbox)
		       : reply_refuse(frontend, ipc_request(message), refusal, detail, 0);
}

struct question *deferred_question(void)
{
	return running ? &running->question : &fresh;
}

struct audit_ticket *deferred_ticket(void)
{
	return running ? &running->ticket : &fresh_ticket;
}

void deferred_audited(uint64_t number, int error)
{
	FOR_EACH (deferred, entry, table, DEFERRED_MAX) {
		struct audit_ticket *ticket = &entry->ticket;

		if (!entry->frontend || ticket->state != AUDIT_TICKET_ASKED ||
		    ticket->number != number)
			continue;
		ticket->state = error ? AUDIT_TICKET_REFUSED : AUDIT_TICKET_WRITTEN;
		ticket->error = error;
		entry->is_woken = true;
	}
}

struct question *deferred_asked(uint32_t number)
{
	FOR_EACH (deferred, entry, table, DEFERRED_MAX) {
		if (entry->frontend && entry->question.state == QUESTION_ASKED &&
		    (number == 0 || entry->question.number == number)) {
			entry->is_woken = true;
			return &entry->question;
		}
	}
	return NULL;
}

/* `frontend`: NULL: any. */
static bool is_awaited(const struct frontend *frontend, const struct sandbox *sandbox,
		       uint64_t before)
{
	FOR_EACH (deferred, entry, table, DEFERRED_MAX) {
		if (entry->frontend && (!frontend || entry->frontend == frontend) &&
		    entry->sandbox == sandbox && entry->order < before)
			return true;
	}
	return false;
}

bool deferred_is_behind(const struct frontend *frontend, const struct sandbox *sandbox)
{
	return is_awaited(frontend, sandbox, running ? running->order : UINT64_MAX);
}

bool deferred_is_awaited(const struct sandbox *sandbox)
{
	return is_awaited(NULL, sandbox, UINT64_MAX);
}

void deferred_wake(const struct sandbox *sandbox)
{
	FOR_EACH (deferred, entry, table, DEFERRED_MAX)
		entry->is_woken |= entry->sandbox == sandbox;
}

/* Look again at the requests behind it, and at a sandbox that no request waits for any more. */
static void finish_entry(struct deferred *entry)
{
	entry->frontend = NULL;
	fd_close(&entry->fd);
	fd_close_all(entry->question.fds, 3);
	audit_drop(&entry->ticket);
	if (!entry->sandbox)
		return;
	deferred_wake(entry->sandbox);
	sandbox_stir(entry->sandbox);
}

bool deferred_cancel(const struct frontend *frontend, uint64_t request)
{
	FOR_EACH (deferred, entry, table, DEFERRED_MAX) {
		if (entry->frontend == frontend && entry->request == request) {
			finish_entry(entry);
			return true;
		}
	}
	return false;
}

void deferred_forget(const struct frontend *frontend)
{
	FOR_EACH (deferred, entry, table, DEFERRED_MAX) {
		if (entry->frontend == frontend)
			finish_entry(entry);
	}
}

/* Return the woken request that has waited longest; NULL: there is none. */
static struct deferred *find_due(void)
{
	struct deferred *due = NULL;

	FOR_EACH (deferred, entry, table, DEFERRED_MAX) {
		if (entry->frontend && entry->is_woken && (!due || entry->order < due->order))
			due = entry;
	}
	return due;
}

struct frontend *deferred_begin(struct channel_message *ret)
{
	running = find_due();
	if (!running)
		return NULL;
	(void)ipc_decode(messages[running - table], running->size, ret->body, sizeof(ret->body),
			 &ret->type); /* it was encoded here */
	memset(ret->fds, -1, sizeof(ret->fds));
	ret->fds[0] = fd_take(&running->fd);
	running->is_woken = running->is_kept = false;
	return running->frontend;
}

void deferred_end(const struct channel_message *message)
{
	struct deferred *entry = running;

	running = NULL;
	entry->fd = message->fds[0]; /* the handler may have taken it */
	if (!entry->is_kept)
		finish_entry(entry);
}

void deferred_end_question(void)
{
	fresh.state = QUESTION_NONE;
	audit_drop(&fresh_ticket);
}

uint64_t deferred_deadline_us(void)
{
	return find_due() && !supervisor.is_holding ? 0 : UINT64_MAX;
}
