/* SPDX-License-Identifier: Apache-2.0 */
#include "cable/watches.h"

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "common/channel.h"
#include "common/fd.h"
#include "common/ipc_network.h"

/* The records of a watch: its kinds of refusals, and the further ones together. */
#define RECORDS_MAX (NETWORK_DENIALS_MAX + 1)

static struct watch {
	struct channel channel; /* fd -1: the watch is over */
	uint64_t request;
	uint32_t frontend;
	uint32_t slot; /* GATEWAY_SLOTS: not known yet */
	uint32_t use;  /* 0: any */
	uint64_t since_us;
	bool is_shared;
	uint32_t count;
	struct ipc_network_denial records[RECORDS_MAX];
} watches[WATCHES_MAX];
static uint32_t used; /* no watch has a higher index */

/* The last refusals: we may hear of one before we hear that its execution begins. */
#define RECENT_MAX 1024U
static struct ipc_connection_refused recent[RECENT_MAX];
static uint64_t recent_count; /* so far */

/* Connections, by their number: one that meets a longer one at its place is not shown. */
#define CONNECTIONS_MAX 4096U
static struct ipc_connection_begin connections[CONNECTIONS_MAX];

/* Connections that one look shows: with the refusals there is room for them in a channel. */
#define SHOWN_MAX 128U

static bool is_open(const struct watch *watch)
{
	return watch->channel.fd >= 0;
}

void watches_begin(const struct ipc_cable_watch *from, int fd)
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
	watches[at].request = from->request;
	watches[at].frontend = from->frontend;
	watches[at].slot = GATEWAY_SLOTS;
	watches[at].is_shared = false;
	watches[at].since_us = 0;
	watches[at].count = 0;
}

static void share_sandbox(struct watch *of)
{
	for (uint32_t i = 0; i < used; i++) {
		struct watch *other = &watches[i];

		if (other == of || !is_open(other) || other->slot != of->slot)
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

	if (!is_open(watch) || watch->slot != refused->slot || refused->time_us < watch->since_us ||
	    (watch->use != 0 && watch->use != refused->use))
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

void watches_attach(const struct ipc_cable_execution *execution)
{
	for (uint32_t i = 0; i < used; i++) {
		struct watch *watch = &watches[i];

		if (!is_open(watch) || watch->frontend != execution->frontend ||
		    watch->request != execution->request)
			continue;
		watch->slot = execution->slot;
		watch->since_us = execution->since_us;
		share_sandbox(watch);
		count_recent(watch);
		return;
	}
}

void watches_count(const struct ipc_connection_refused *refused)
{
	recent[recent_count++ % RECENT_MAX] = *refused;
	for (uint32_t i = 0; i < used; i++)
		count_refusal(&watches[i], refused);
}

/* Send the counts, as far as the frontend takes them, and close. */
static void send_counts(struct watch *watch)
{
	for (uint32_t i = 0; i < watch->count; i++) {
		watch->records[i].is_shared = watch->is_shared;
		if (channel_send(&watch->channel, IPC_TYPE_network_denial, &watch->records[i], NULL,
				 MSG_DONTWAIT) != 0)
			break;
	}
	fd_close(&watch->channel.fd);
}

static void end_watch(struct watch *watch)
{
	send_counts(watch);
	while (used > 0 && !is_open(&watches[used - 1]))
		used--;
}

void watches_end(uint32_t slot)
{
	for (uint32_t i = used; i > 0; i--) {
		if (i <= used && is_open(&watches[i - 1]) && watches[i - 1].slot == slot)
			end_watch(&watches[i - 1]);
	}
}

uint32_t watches_poll(struct pollfd polls[WATCHES_MAX])
{
	for (uint32_t i = 0; i < used; i++)
		polls[i] = (struct pollfd){ .fd = watches[i].channel.fd, .events = POLLIN };
	return used;
}

/* A frontend says nothing but that it wants the end. */
void watches_turn(const struct pollfd *polls, uint32_t count)
{
	for (uint32_t i = count; i > 0; i--) {
		if (polls[i - 1].revents && polls[i - 1].fd == watches[i - 1].channel.fd &&
		    is_open(&watches[i - 1]))
			end_watch(&watches[i - 1]);
	}
}

void watches_connect(const struct ipc_connection_begin *begin)
{
	struct ipc_connection_begin *place = &connections[begin->number % CONNECTIONS_MAX];

	if (place->number == 0)
		*place = *begin;
}

void watches_disconnect(uint64_t number)
{
	if (connections[number % CONNECTIONS_MAX].number == number)
		connections[number % CONNECTIONS_MAX].number = 0;
}

void watches_tell(uint32_t slot, uint32_t use, int fd)
{
	static struct watch look; /* too large for the stack */
	struct ipc_network_connection shown;
	uint32_t count = 0;

	look.channel = (struct channel){ fd, IPC_GATEWAY, IPC_FRONTEND, IPC_SERVE };
	look.slot = slot;
	look.use = use;
	look.count = 0;
	for (uint32_t i = 0; i < CONNECTIONS_MAX && count < SHOWN_MAX; i++) {
		const struct ipc_connection_begin *begin = &connections[i];

		if (begin->number == 0 || begin->slot != slot || begin->use != use)
			continue;
		shown = (struct ipc_network_connection){ .number = begin->number,
							 .port = begin->port };
		memcpy(shown.host, begin->host, sizeof(shown.host));
		if (channel_send(&look.channel, IPC_TYPE_network_connection, &shown, NULL,
				 MSG_DONTWAIT) != 0)
			break;
		count++;
	}
	count_recent(&look);
	send_counts(&look);
}
