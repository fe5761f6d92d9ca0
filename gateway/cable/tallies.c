/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/tallies.h"

#include <string.h>
#include <sys/socket.h>

#include "common/ipc/ipc_network.h"

struct tally {
	bool is_open; /* its sandbox or execution is not over */
	bool is_shared;
	uint32_t slot, use; /* use 0: any */
	uint32_t frontend;  /* both: of a tally that is kept, until it is told */
	uint64_t request;
	uint64_t since_us;
	bool has_any;
	/* Refusals, the further ones together, failures; and the further failures, which nobody is
	 * told. */
	struct ipc_network_denial records[NETWORK_COUNTED_MAX + 1];
};

static struct tally of_sandboxes[GATEWAY_SLOTS];   /* that are ephemeral */
static struct tally of_executions[EXECUTIONS_MAX]; /* in others */
static uint32_t used;                              /* no tally of an execution has a higher index */

static struct tally kept[TALLIES_KEPT_MAX];
static uint64_t kept_count; /* so far */

/* The last refusals: we may hear of one before we hear that its execution begins. */
#define RECENT_MAX 1024U
static struct ipc_connection_refused recent[RECENT_MAX];
static uint64_t recent_count; /* so far */

static struct ipc_network_denial *find_record(struct tally *tally,
					      const struct ipc_connection_refused *refused)
{
	const bool is_failure = refused->reason >= CONNECTION_UNKNOWN;
	const uint32_t last = is_failure ? NETWORK_COUNTED_MAX : NETWORK_DENIALS_MAX;
	uint32_t at = is_failure ? NETWORK_DENIALS_MAX + 1 : 0;
	struct ipc_network_denial *records = tally->records;

	while (at < last && records[at].count > 0 &&
	       (records[at].port != refused->port || records[at].reason != refused->reason ||
		strcmp(records[at].host, refused->host) != 0))
		at++;
	if (at < last) {
		records[at].port = refused->port;
		records[at].reason = refused->reason;
		memcpy(records[at].host, refused->host, sizeof(refused->host));
	}
	return &records[at];
}

static void count_refusal(struct tally *tally, const struct ipc_connection_refused *refused)
{
	struct ipc_network_denial *record;

	if (!tally->is_open || tally->slot != refused->slot || refused->time_us < tally->since_us ||
	    (tally->use != 0 && tally->use != refused->use))
		return;
	tally->has_any = true;
	record = find_record(tally, refused);
	record->count += record->count < UINT32_MAX;
}

/* Count the last refusals, as far as they concern the tally. */
static void count_recent(struct tally *tally)
{
	for (uint64_t at = recent_count > RECENT_MAX ? recent_count - RECENT_MAX : 0;
	     at < recent_count; at++)
		count_refusal(tally, &recent[at % RECENT_MAX]);
}

static void send_tally(struct tally *tally, const struct channel *to)
{
	int error = 0;

	for (uint32_t i = 0; i < NETWORK_COUNTED_MAX && !error; i++) {
		tally->records[i].is_shared = tally->is_shared;
		if (tally->records[i].count > 0)
			error = channel_send(to, IPC_TYPE_network_denial, &tally->records[i], NULL,
					     MSG_DONTWAIT);
	}
}

void tallies_look(uint32_t slot, uint32_t use, const struct channel *to)
{
	static struct tally look;

	look = (struct tally){ .is_open = true, .slot = slot, .use = use };
	count_recent(&look);
	send_tally(&look, to);
}

void tallies_begin(const struct ipc_cable_execution *execution)
{
	struct tally *tally = &of_executions[execution->place];

	*tally = (struct tally){ .is_open = true,
				 .slot = execution->slot,
				 .since_us = execution->since_us };
	used = execution->place >= used ? execution->place + 1 : used;
	for (uint32_t i = 0; i < used; i++) {
		if (i != execution->place && of_executions[i].is_open &&
		    of_executions[i].slot == tally->slot)
			of_executions[i].is_shared = tally->is_shared = true;
	}
	count_recent(tally);
}

void tallies_count(const struct ipc_connection_refused *refused, bool is_ephemeral)
{
	struct tally *own = &of_sandboxes[refused->slot];

	recent[recent_count++ % RECENT_MAX] = *refused;
	if (is_ephemeral && !own->is_open)
		*own = (struct tally){ .is_open = true, .slot = refused->slot };
	count_refusal(own, refused);
	for (uint32_t i = 0; i < used; i++)
		count_refusal(&of_executions[i], refused);
}

void tallies_keep(const struct ipc_cable_execution *execution)
{
	struct tally *tally = &of_executions[execution->place];
	struct tally *place = &kept[kept_count % TALLIES_KEPT_MAX];

	if (!tally->is_open || tally->slot != execution->slot) /* its begin was not told */
		tally = &of_sandboxes[execution->slot];
	if (tally->is_open && tally->has_any && execution->frontend != 0) {
		*place = *tally;
		place->frontend = execution->frontend;
		place->request = execution->request;
		kept_count++;
	}
	tally->is_open = false;
}

void tallies_end(uint32_t slot)
{
	of_sandboxes[slot].is_open = false;
	for (uint32_t i = 0; i < used; i++)
		of_executions[i].is_open &= of_executions[i].slot != slot;
}

void tallies_tell(uint32_t frontend, uint64_t request, const struct channel *to)
{
	for (uint32_t i = 0; i < TALLIES_KEPT_MAX; i++) {
		if (kept[i].frontend != frontend || kept[i].request != request)
			continue;
		send_tally(&kept[i], to);
		kept[i].frontend = 0;
	}
}
