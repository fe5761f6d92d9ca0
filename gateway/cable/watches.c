/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/watches.h"

#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/ipc/ipc_network.h"
#include "gateway/cable/grants.h"
#include "gateway/cable/questions.h"
#include "gateway/cable/tallies.h"
#include "gateway/hosts/list.h"

/* The looks that msp-egress is asked for. */
static struct look {
	uint32_t number; /* 0: the row is free */
	uint32_t shown;
	struct channel to;
	struct party of;
} looks[LOOKS_MAX];

/* Connections and grants that one look shows: with the refusals there is room for them in a
 * channel.
 */
#define SHOWN_MAX 96U

/* Send a message, as far as the frontend takes it. */
static bool send_row(const struct channel *to, uint32_t type, const void *message)
{
	return channel_send(to, type, message, NULL, MSG_DONTWAIT) == 0;
}

static struct look *find_look(uint32_t number)
{
	for (uint32_t i = 0; i < LOOKS_MAX; i++) {
		if (looks[i].number == number)
			return &looks[i];
	}
	return NULL;
}

void watches_look(const struct party *of, int fd)
{
	static uint32_t last;
	struct look *look = find_look(0);

	if (!look) {
		fd_close(&fd);
		return;
	}
	last += last == UINT32_MAX ? 2 : 1; /* 0 is none */
	*look = (struct look){ last, 0, { fd, IPC_GATEWAY, IPC_FRONTEND, IPC_SERVE }, *of };
	event_watch_look(of, last);
}

/* Send what was granted to a sandbox or its client, and what was taken away. */
static void send_grants(const struct look *look)
{
	const struct cabled *sandbox = cables_find(look->of.slot, look->of.use);
	const struct grant *grant = NULL;
	uint32_t count = 0;

	while (sandbox && count++ < SHOWN_MAX && (grant = grants_next(&sandbox->party, grant))) {
		struct ipc_network_host shown = { .time_us = grant->time_us,
						  .state = grant->is_cut ? NETWORK_HOST_CUT
									 : NETWORK_HOST_GRANTED,
						  .port = grant->port };

		if (grant->is_back ||
		    (!grant->is_cut && !grants_count(grant, sandbox->profile->host_approval)))
			continue;
		if (grant->of.slot == GATEWAY_SLOTS)
			shown.frontend = grant->of.frontend;
		memcpy(shown.host, grant->host, sizeof(shown.host));
		if (!send_row(&look->to, IPC_TYPE_network_host, &shown))
			return;
	}
}

/* Show a connection that the profile's list or a grant allows. */
static void show_connection(struct look *look, const struct ipc_connection_open *open)
{
	const struct cabled *sandbox = cables_find(look->of.slot, look->of.use);
	struct host_wanted wanted;
	struct ipc_network_connection shown = { open->number, open->sent, open->received,
						open->port, "" };

	if (!sandbox || !host_wanted_read(open->host, &wanted) ||
	    (!host_list_find(sandbox->policy, sandbox->profile, &wanted, (uint16_t)open->port) &&
	     !host_list_may_grow(sandbox->profile, &wanted)))
		return;
	memcpy(shown.host, open->host, sizeof(shown.host));
	if (look->shown++ < SHOWN_MAX) /* the frontend may have gone */
		(void)send_row(&look->to, IPC_TYPE_network_connection, &shown);
}

void watches_show(const struct ipc_connection_open *open)
{
	struct look *look = open->look ? find_look(open->look) : NULL;

	if (look && open->number > 0) {
		show_connection(look, open);
	} else if (look) {
		send_grants(look);
		tallies_look(look->of.slot, look->of.use, &look->to);
		fd_close(&look->to.fd);
		look->number = 0;
	}
}

void watches_question(const struct channel *to)
{
	const struct ipc_network_host *question = NULL;

	while ((question = questions_next(question)) &&
	       send_row(to, IPC_TYPE_network_host, question))
		continue;
}
