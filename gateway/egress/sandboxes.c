/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/egress/sandboxes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/share.h"
#include "gateway/egress/gate.h"
#include "gateway/egress/readers.h"
#include "stewards/base/counters.h"

static struct sandbox {
	uint32_t slot, use;
	uint32_t server; /* as in egress_http */
	uint32_t questions;
	struct gate gate;
} * sandboxes[GATEWAY_SLOTS];

/* A sandbox that has ended has left its questions. */
static struct question {
	bool is_used, is_name;
	struct gate *gate; /* NULL: it has ended */
	uint32_t slot, use;
	uint32_t index; /* the gate's */
	uint64_t number;
} questions[QUESTIONS_MAX];

static struct {
	uint32_t slot, count;
	int fds[GATE_LISTENERS_MAX];
} coming; /* listeners of the sandbox to come */

static struct outbox *to_cable, *to_dial;
static int waiting;
static uint32_t fds_max, fds_used; /* a connection that is being dialled counts with its host */
static uint32_t question_count;
static uint64_t numbers;
static bool needs_tick; /* a gate does */
static int failure;

void sandboxes_begin(struct outbox *cable, struct outbox *dial, int own_waiting, uint32_t most)
{
	to_cable = cable;
	to_dial = dial;
	waiting = own_waiting;
	fds_max = most;
}

int sandboxes_failure(void)
{
	return failure;
}

bool sandboxes_are_busy(void)
{
	return needs_tick;
}

static void note_failure(int error)
{
	if (failure == 0)
		failure = error;
}

static struct sandbox *sandbox_of(struct gate *gate)
{
	void *sandbox = (char *)gate - offsetof(struct sandbox, gate);

	return sandbox;
}

/* --- room ------------------------------------------------------------------------------------- */

/* Return whether the sandbox may have one more question, and descriptors for its connection. */
static bool has_share(const struct sandbox *sandbox)
{
	return share_grants(sandbox->questions, question_count, QUESTIONS_MAX, 1) &&
	       share_grants(2 * sandbox->gate.entry_count, fds_used + 1, fds_max, 1);
}

/* Let the connections of the sandbox wait in the kernel while it has its share, or go on. */
static void regulate_share(struct gate *gate)
{
	gate_hold(gate, !has_share(sandbox_of(gate)));
}

/* --- questions -------------------------------------------------------------------------------- */

static struct question *take_question(struct gate *gate, uint32_t index, bool is_name)
{
	struct sandbox *sandbox = sandbox_of(gate);

	if (!share_grants(sandbox->questions, question_count, QUESTIONS_MAX, 1))
		return NULL;
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++) {
		if (questions[i].is_used)
			continue;
		/* The place is the number's rest: an answer finds it at once. */
		questions[i] = (struct question){ .is_used = true,
						  .is_name = is_name,
						  .gate = gate,
						  .slot = sandbox->slot,
						  .use = sandbox->use,
						  .index = index,
						  .number = ++numbers * QUESTIONS_MAX + i };
		question_count++;
		sandbox->questions++;
		return &questions[i];
	}
	return NULL;
}

/* Find the question of an answer, which is over with it. False: nobody asked. */
static bool end_question(uint64_t number, struct question *ret)
{
	struct question *question = &questions[number % QUESTIONS_MAX];

	if (!question->is_used || question->number != number)
		return false;
	*ret = *question;
	question->is_used = false;
	question_count--;
	if (ret->gate)
		sandbox_of(ret->gate)->questions--;
	return true;
}

void event_gate_name(struct gate *gate, uint32_t index, const char *name)
{
	const struct question *question = take_question(gate, index, true);
	struct ipc_name_ask ask = { .number = 0 };

	if (!question) {
		gate_named(gate, index, DNS_FAILURE);
		return;
	}
	ask.number = question->number;
	ask.slot = question->slot;
	ask.use = question->use;
	memcpy(ask.host, name, strlen(name) + 1);
	note_failure(outbox_send(to_dial, IPC_TYPE_name_ask, &ask));
}

void event_gate_dial(struct gate *gate, uint32_t index, const char *host, uint16_t port)
{
	const struct question *question = take_question(gate, index, false);
	struct ipc_dial_ask ask = { .port = port };

	if (!question) {
		gate_dialed(gate, index, -1, NULL);
		return;
	}
	fds_used += 2;
	regulate_share(gate);
	ask.number = question->number;
	ask.slot = question->slot;
	ask.use = question->use;
	memcpy(ask.host, host, strlen(host) + 1);
	note_failure(outbox_send(to_dial, IPC_TYPE_dial_ask, &ask));
}

static int take_name(const struct question *question, uint32_t result)
{
	static const enum dns_code codes[DIAL_RESULT_COUNT] = {
		[DIAL_RESULT_FINE] = DNS_OK,
		[DIAL_RESULT_REFUSED] = DNS_UNLISTED,
		[DIAL_RESULT_NO_NAME] = DNS_NO_NAME,
		[DIAL_RESULT_FAILED] = DNS_FAILURE,
	};

	if (result >= DIAL_RESULT_COUNT)
		return -EPROTO;
	if (question->gate) {
		gate_named(question->gate, question->index, codes[result]);
		regulate_share(question->gate);
	}
	return 0;
}

/* Report the end of a connection whose sandbox has ended while its host was dialled. */
static void end_late(const struct question *question, const struct ipc_dial_done *done)
{
	struct ipc_connection_end end = { .number = done->connection,
					  .slot = question->slot,
					  .use = question->use,
					  .reason = CONNECTION_END_SANDBOX };

	memcpy(end.address, done->address, sizeof(end.address));
	note_failure(outbox_send(to_cable, IPC_TYPE_connection_end, &end));
}

int sandboxes_dialed(const struct ipc_dial_done *done, int fd)
{
	struct question question;

	if (!end_question(done->number, &question) || question.is_name) {
		fd_close(&fd);
		return -EPROTO;
	}
	if (question.gate) {
		gate_dialed(question.gate, question.index, fd, done);
		regulate_share(question.gate);
	} else {
		fd_close(&fd);
		end_late(&question, done);
	}
	return 0;
}

int sandboxes_answered(const struct ipc_ask_done *done)
{
	struct question question;

	if (!end_question(done->number, &question))
		return -EPROTO;
	if (question.is_name)
		return take_name(&question, done->result);
	if (question.gate) {
		gate_dialed(question.gate, question.index, -1, NULL);
		fds_used -= 2;
		regulate_share(question.gate);
	}
	return 0;
}

/* --- what gates tell -------------------------------------------------------------------------- */

void event_gate_watch(struct gate *gate, uint32_t mark, int fd, short before, short events)
{
	const uint64_t data = (uint64_t)sandbox_of(gate)->slot << 32 | mark;
	struct epoll_event event = { .events = (uint32_t)events, .data.u64 = data };
	const int operation = events == 0   ? EPOLL_CTL_DEL
			      : before == 0 ? EPOLL_CTL_ADD
					    : EPOLL_CTL_MOD;

	/* A descriptor that is not waited for would never be turned. */
	if (epoll_ctl(waiting, operation, fd, &event) != 0)
		note_failure(-errno);
}

void event_gate_refused(struct gate *gate, const char *host, uint16_t port,
			enum connection_refused reason)
{
	const struct sandbox *sandbox = sandbox_of(gate);
	struct ipc_connection_refused refused = { .time_us = clock_now_us(),
						  .slot = sandbox->slot,
						  .use = sandbox->use,
						  .port = port,
						  .reason = (uint32_t)reason };

	memcpy(refused.host, host, strlen(host) + 1);
	note_failure(outbox_send(to_cable, IPC_TYPE_connection_refused, &refused));
	counters_raise(sandbox->slot);
}

void event_gate_ended(struct gate *gate, struct ipc_connection_end *end)
{
	end->slot = sandbox_of(gate)->slot;
	end->use = sandbox_of(gate)->use;
	note_failure(outbox_send(to_cable, IPC_TYPE_connection_end, end));
	fds_used -= 2;
}

bool event_gate_read(struct gate *gate, uint32_t entry, int host, const struct ipc_dial_done *done)
{
	const struct sandbox *sandbox = sandbox_of(gate);
	const struct gate_entry *from = &gate->entries[entry];
	struct reader_connection connection = { .number = done->connection,
						.server = sandbox->server,
						.slot = sandbox->slot,
						.use = sandbox->use,
						.entry = entry,
						.port = from->port,
						.is_counted = gate->limits.upload > 0 ||
							      gate->limits.download > 0,
						.idle_s = gate->limits.idle_s };

	memcpy(connection.host, from->host, sizeof(connection.host));
	memcpy(connection.address, done->address, sizeof(connection.address));
	if (!readers_open(&connection, from->client, host))
		return false;
	fds_used -= 2;
	return true;
}

/* Find a sandbox that a message names; it has none for which there was no room. */
static struct sandbox *find_sandbox(uint32_t slot, uint32_t use)
{
	struct sandbox *sandbox = slot < GATEWAY_SLOTS ? sandboxes[slot] : NULL;

	return sandbox && sandbox->use == use ? sandbox : NULL;
}

void event_gate_spent(struct gate *gate)
{
	readers_end_host(sandbox_of(gate)->slot, "", CONNECTION_END_SPENT);
}

bool event_reader_moved(uint32_t slot, uint32_t use, uint32_t entry, uint64_t sent,
			uint64_t received)
{
	struct sandbox *sandbox = find_sandbox(slot, use);

	return sandbox && gate_count(&sandbox->gate, entry, sent, received);
}

void event_reader_ended(uint32_t slot, uint32_t use, uint32_t entry, uint64_t sent,
			uint64_t received)
{
	struct sandbox *sandbox = find_sandbox(slot, use);

	if (sandbox) /* else it has ended before */
		gate_read(&sandbox->gate, entry, sent, received);
}

/* --- sandboxes -------------------------------------------------------------------------------- */

/* Give a sandbox that runs a further listener. Without room for it, its port is closed. */
static int add_port(struct sandbox *sandbox, int fd)
{
	if (!sandbox || fds_used == fds_max || !gate_add(&sandbox->gate, fd))
		fd_close(&fd);
	else
		fds_used++;
	return 0;
}

int sandboxes_cut(const struct ipc_egress_cut *cut)
{
	struct sandbox *sandbox = find_sandbox(cut->slot, cut->use);

	if (cut->slot >= GATEWAY_SLOTS)
		return -EPROTO;
	if (sandbox) {
		readers_end_host(cut->slot, cut->host, CONNECTION_END_CUT);
		gate_cut(&sandbox->gate, cut->host);
	}
	return 0;
}

int sandboxes_look(const struct ipc_egress_look *look)
{
	struct ipc_connection_open open = { .look = look->look };
	const struct sandbox *sandbox = find_sandbox(look->slot, look->use);
	uint32_t at = 0;

	if (look->slot >= GATEWAY_SLOTS)
		return -EPROTO;
	do { /* the last one is none */
		if (!sandbox || !gate_look(&sandbox->gate, &at, &open))
			open = (struct ipc_connection_open){ .look = look->look };
		note_failure(outbox_send(to_cable, IPC_TYPE_connection_open, &open));
	} while (open.number > 0);
	return 0;
}

int sandboxes_take_port(const struct ipc_egress_port *port, int fd)
{
	const uint32_t slot = port->slot;

	if (port->use != 0)
		return add_port(find_sandbox(slot, port->use), fd);
	if (coming.count == GATE_LISTENERS_MAX || (coming.count > 0 && coming.slot != slot)) {
		fd_close(&fd);
		return -EPROTO;
	}
	coming.slot = slot;
	coming.fds[coming.count++] = fd;
	return 0;
}

static void drop_coming(int dns)
{
	fd_close_all(coming.fds, coming.count);
	fd_close(&dns);
	coming.count = 0;
}

int sandboxes_begin_one(const struct ipc_egress_begin *begin, int dns, uint64_t now_ms)
{
	struct sandbox *sandbox;

	if (begin->slot >= GATEWAY_SLOTS || sandboxes[begin->slot] ||
	    begin->limits.connections == 0 || begin->limits.connections > GATE_CONNECTIONS_MAX ||
	    begin->limits.rate > UINT32_MAX / GATE_BURST || begin->ports != coming.count ||
	    (coming.count > 0 && coming.slot != begin->slot)) {
		drop_coming(dns);
		return -EPROTO;
	}
	sandbox = calloc(1, sizeof(*sandbox));
	if (!sandbox || fds_used + coming.count + 1 > fds_max) {
		log_line("no room for the connections of a sandbox: its network is closed");
		drop_coming(dns); /* the cable goes with its listeners */
		free(sandbox);
		return 0;
	}
	sandbox->slot = begin->slot;
	sandbox->use = begin->use;
	sandbox->gate.limits = begin->limits;
	sandbox->server = begin->server;
	sandbox->gate.now_ms = now_ms;
	sandboxes[begin->slot] = sandbox;
	fds_used += coming.count + 1;
	gate_begin(&sandbox->gate, dns, coming.fds, coming.count);
	coming.count = 0;
	return 0;
}

/* The questions stay until they are answered. */
static void leave_questions(const struct sandbox *sandbox)
{
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++) {
		if (!questions[i].is_used || questions[i].gate != &sandbox->gate)
			continue;
		questions[i].gate = NULL;
		if (!questions[i].is_name) {
			fds_used -= 2;
		}
	}
}

int sandboxes_end_one(uint32_t slot)
{
	struct sandbox *sandbox = slot < GATEWAY_SLOTS ? sandboxes[slot] : NULL;

	if (slot >= GATEWAY_SLOTS)
		return -EPROTO;
	if (!sandbox) /* there was no room for it */
		return 0;
	leave_questions(sandbox);
	readers_end_host(slot, "", CONNECTION_END_SANDBOX);
	gate_end(&sandbox->gate);
	fds_used -= sandbox->gate.listener_count + 1;
	sandboxes[slot] = NULL;
	free(sandbox);
	return 0;
}

void sandboxes_turn(uint64_t data, uint64_t now_ms)
{
	struct sandbox *sandbox = sandboxes[data >> 32];

	if (sandbox) {                   /* it may have ended just now */
		if (!has_share(sandbox)) /* others have taken from it meanwhile */
			gate_hold(&sandbox->gate, true);
		gate_turn(&sandbox->gate, (uint32_t)data, now_ms);
		needs_tick |= gate_needs_tick(&sandbox->gate);
	}
}

void sandboxes_tick(uint64_t now_ms)
{
	needs_tick = false;
	for (uint32_t i = 0; i < GATEWAY_SLOTS; i++) {
		if (!sandboxes[i])
			continue;
		gate_tick(&sandboxes[i]->gate, now_ms);
		regulate_share(&sandboxes[i]->gate);
		needs_tick |= gate_needs_tick(&sandboxes[i]->gate);
	}
}
