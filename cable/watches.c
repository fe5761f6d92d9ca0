/* SPDX-License-Identifier: Apache-2.0 */
#include "cable/watches.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "cable/grants.h"
#include "cable/questions.h"
#include "common/dispatch.h"
#include "common/fd.h"
#include "common/ipc_network.h"

/* The records of a watch: its kinds of refusals, and the further ones together. */
#define RECORDS_MAX (NETWORK_DENIALS_MAX + 1)

enum watch_kind {
	WATCH_EXECUTION = 0,
	WATCH_SANDBOX,
	WATCH_CLIENT, /* the frontend's own: a person's sees all questions */
};

static struct watch {
	struct channel channel; /* fd -1: the watch is over */
	enum watch_kind kind;
	uint64_t request;
	struct party of; /* slot GATEWAY_SLOTS: none, or not known yet; use 0: any */
	uint64_t since_us;
	bool is_broker;
	bool is_shared;
	uint32_t look; /* that msp-egress is asked for; 0: none yet */
	uint32_t shown;
	uint32_t count;
	struct ipc_network_denial records[RECORDS_MAX];
} watches[WATCHES_MAX];
static uint32_t used; /* no watch has a higher index */

/* The last executions that began without a watch, which may come after. */
#define UNWATCHED_MAX 64U
static struct ipc_cable_execution unwatched[UNWATCHED_MAX];
static uint32_t unwatched_count;

/* The last refusals: we may hear of one before we hear that its execution begins. */
#define RECENT_MAX 1024U
static struct ipc_connection_refused recent[RECENT_MAX];
static uint64_t recent_count; /* so far */

/* Connections and grants that one look shows: with the refusals there is room for them in a
 * channel.
 */
#define SHOWN_MAX 96U

static bool is_open(const struct watch *watch)
{
	return watch->channel.fd >= 0;
}

static void share_sandbox(struct watch *of)
{
	for (uint32_t i = 0; i < used; i++) {
		struct watch *other = &watches[i];

		if (other == of || !is_open(other) || other->kind != WATCH_EXECUTION ||
		    other->of.slot != of->of.slot)
			continue;
		other->is_shared = of->is_shared = true;
	}
}

static struct ipc_network_denial *find_record(struct watch *watch,
					      const struct ipc_connection_refused *refused)
{
	uint32_t at = 0;

	while (at < watch->count && at < NETWORK_DENIALS_MAX &&
	       (watch->records[at].port != refused->port ||
		watch->records[at].reason != refused->reason ||
		strcmp(watch->records[at].host, refused->host) != 0))
		at++;
	if (at < watch->count)
		return &watch->records[at];
	watch->count++;
	watch->records[at] = (struct ipc_network_denial){ .count = 0 };
	if (at < NETWORK_DENIALS_MAX) {
		watch->records[at].port = refused->port;
		watch->records[at].reason = refused->reason;
		memcpy(watch->records[at].host, refused->host, sizeof(refused->host));
	}
	return &watch->records[at];
}

static void count_refusal(struct watch *watch, const struct ipc_connection_refused *refused)
{
	struct ipc_network_denial *record;

	if (!is_open(watch) || watch->of.slot != refused->slot ||
	    refused->time_us < watch->since_us ||
	    (watch->of.use != 0 && watch->of.use != refused->use))
		return;
	record = find_record(watch, refused);
	record->count += record->count < UINT32_MAX;
}

/* Count the last refusals, as far as they concern the watch. */
static void count_recent(struct watch *watch)
{
	for (uint64_t at = recent_count > RECENT_MAX ? recent_count - RECENT_MAX : 0;
	     at < recent_count; at++)
		count_refusal(watch, &recent[at % RECENT_MAX]);
}

static bool is_of(const struct watch *watch, const struct ipc_cable_execution *execution)
{
	return is_open(watch) && watch->kind == WATCH_EXECUTION &&
	       watch->of.frontend == execution->frontend && watch->request == execution->request;
}

static void count_execution(struct watch *watch, const struct ipc_cable_execution *execution)
{
	watch->of.slot = execution->slot;
	watch->since_us = execution->since_us;
	share_sandbox(watch);
	count_recent(watch);
}

void watches_begin(const struct ipc_cable_watch *from, uint32_t use, int fd)
{
	uint32_t at = 0;

	while (at < used && is_open(&watches[at]))
		at++;
	if (at == WATCHES_MAX) {
		fd_close(&fd);
		return;
	}
	used = at == used ? used + 1 : used;
	watches[at].channel = (struct channel){ fd, IPC_GATEWAY, IPC_FRONTEND, IPC_SERVE };
	watches[at].kind = from->slot < GATEWAY_SLOTS ? WATCH_SANDBOX
			   : from->from.request != 0  ? WATCH_EXECUTION
						      : WATCH_CLIENT;
	watches[at].request = from->from.request;
	watches[at].of = (struct party){ from->slot, use, from->frontend, "" };
	memcpy(watches[at].of.owner, from->from.owner, IPC_NAME_MAX);
	watches[at].is_broker = from->is_broker != 0;
	watches[at].is_shared = false;
	watches[at].since_us = 0;
	watches[at].look = watches[at].shown = 0;
	watches[at].count = 0;
	for (uint32_t i = 0; i < UNWATCHED_MAX; i++) {
		if (is_of(&watches[at], &unwatched[i]))
			count_execution(&watches[at], &unwatched[i]);
	}
}

void watches_attach(const struct ipc_cable_execution *execution, struct party *ret)
{
	uint32_t at = 0;

	ret->frontend = 0;
	while (at < used && !is_of(&watches[at], execution))
		at++;
	if (at == used) {
		unwatched[unwatched_count++ % UNWATCHED_MAX] = *execution;
		return;
	}
	ret->frontend = watches[at].of.frontend;
	memcpy(ret->owner, watches[at].of.owner, sizeof(ret->owner));
	count_execution(&watches[at], execution);
}

void watches_count(const struct ipc_connection_refused *refused)
{
	recent[recent_count++ % RECENT_MAX] = *refused;
	for (uint32_t i = 0; i < used; i++) {
		if (watches[i].kind == WATCH_EXECUTION)
			count_refusal(&watches[i], refused);
	}
}

/* Send a message, as far as the frontend takes it. */
static bool send_row(const struct watch *watch, uint32_t type, const void *message)
{
	return channel_send(&watch->channel, type, message, NULL, MSG_DONTWAIT) == 0;
}

static void send_counts(struct watch *watch)
{
	for (uint32_t i = 0; i < watch->count; i++) {
		watch->records[i].is_shared = watch->is_shared;
		if (!send_row(watch, IPC_TYPE_network_denial, &watch->records[i]))
			return;
	}
}

/* Send what was granted to a sandbox or its client, and what was taken away. */
static void send_grants(const struct watch *watch)
{
	const struct cabled *sandbox = cables_find(watch->of.slot, watch->of.use);
	const struct grant *grant = NULL;
	uint32_t count = 0;

	while (sandbox && count++ < SHOWN_MAX && (grant = grants_next(&sandbox->party, grant))) {
		struct ipc_network_host shown = { .time_us = grant->time_us,
						  .state = grant->is_cut ? NETWORK_HOST_CUT
									 : NETWORK_HOST_GRANTED,
						  .port = grant->port };

		if (!grant->is_cut && !grants_count(grant, sandbox->profile->host_approval))
			continue;
		if (grant->of.slot == GATEWAY_SLOTS)
			shown.frontend = grant->of.frontend;
		memcpy(shown.host, grant->host, sizeof(shown.host));
		if (!send_row(watch, IPC_TYPE_network_host, &shown))
			return;
	}
}

static void send_questions(const struct watch *watch)
{
	const struct ipc_network_host *question = NULL;

	while (!watch->is_broker && (question = questions_next(question)) &&
	       send_row(watch, IPC_TYPE_network_host, question))
		continue;
}

/* Tell the frontend what there is, and close. */
static void end_watch(struct watch *watch)
{
	if (watch->kind == WATCH_SANDBOX) {
		send_grants(watch);
		count_recent(watch);
	}
	if (watch->kind == WATCH_CLIENT)
		send_questions(watch);
	send_counts(watch);
	fd_close(&watch->channel.fd);
	while (used > 0 && !is_open(&watches[used - 1]))
		used--;
}

void watches_end(uint32_t slot)
{
	for (uint32_t i = used; i > 0; i--) {
		if (i <= used && is_open(&watches[i - 1]) && watches[i - 1].of.slot == slot)
			end_watch(&watches[i - 1]);
	}
}

uint32_t watches_poll(struct pollfd polls[WATCHES_MAX])
{
	for (uint32_t i = 0; i < used; i++)
		polls[i] = (struct pollfd){ .fd = watches[i].look ? -1 : watches[i].channel.fd,
					    .events = POLLIN };
	return used;
}

static int take_grant(void *context, struct channel_message *message)
{
	const struct watch *watch = context;
	struct ipc_network_granted granted;

	if (watch->kind == WATCH_EXECUTION)
		return -EPROTO;
	granted.error = (uint32_t)-event_watch_grant(&watch->of, watch->is_broker,
						     ipc_body(message, network_grant));
	(void)send_row(watch, IPC_TYPE_network_granted, &granted); /* it may have gone */
	return 0;
}

static const dispatch_handler from_frontend[IPC_TYPE_COUNT] = {
	[IPC_TYPE_network_grant] = take_grant,
};

/* The connections come first. */
static void begin_look(struct watch *watch)
{
	static uint32_t looks;

	watch->look = ++looks ? looks : ++looks;
	event_watch_look(&watch->of, watch->look);
}

/* A frontend wants a grant, or the end; one that breaks the protocol has the end, too. */
static void turn_watch(struct watch *watch)
{
	static struct channel_message message; /* too large for the stack; one thread */
	enum ipc_error wrong;
	const int status =
		dispatch_one(&watch->channel, &message, MSG_DONTWAIT, from_frontend, watch, &wrong);

	if (status == 1 || status == -EAGAIN)
		return;
	if (watch->kind == WATCH_SANDBOX)
		begin_look(watch);
	else
		end_watch(watch);
}

void watches_turn(const struct pollfd *polls, uint32_t count)
{
	for (uint32_t i = count; i > 0; i--) {
		if (polls[i - 1].revents && polls[i - 1].fd == watches[i - 1].channel.fd &&
		    is_open(&watches[i - 1]))
			turn_watch(&watches[i - 1]);
	}
}

static void show_connection(struct watch *watch, const struct ipc_connection_open *open)
{
	struct ipc_network_connection shown = { open->number, open->sent, open->received,
						open->port, "" };

	memcpy(shown.host, open->host, sizeof(shown.host));
	if (watch->shown++ < SHOWN_MAX)
		(void)send_row(watch, IPC_TYPE_network_connection, &shown); /* it may have gone */
}

void watches_show(const struct ipc_connection_open *open)
{
	uint32_t at = 0;

	while (at < used && (!is_open(&watches[at]) || watches[at].look != open->look))
		at++;
	if (at == used || open->look == 0)
		return; /* the sandbox has ended meanwhile */
	if (open->number > 0)
		show_connection(&watches[at], open);
	else
		end_watch(&watches[at]);
}
