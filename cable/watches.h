/* SPDX-License-Identifier: Apache-2.0
 *
 * The frontends that watch the network, each by a channel of its own. For an execution msp-cable
 * counts the refusals meanwhile and sends the counts at the end; for a sandbox, or for all, it
 * sends what there is when the frontend asks for the end. Frontends also grant hosts over these
 * channels.
 */
#ifndef CABLE_WATCHES_H
#define CABLE_WATCHES_H

#include <poll.h>

#include "cable/cables.h"
#include "common/ipc_gateway.h"
#include "common/ipc_network.h"
#include "common/limits.h"

#define WATCHES_MAX (EXECUTIONS_MAX + FRONTENDS_MAX)

/* Begin a watch; `use` is the sandbox's, if it names one. That of an execution counts since its
 * beginning, if that was not long ago. The descriptor is taken; without room for a watch it is
 * closed. */
void watches_begin(const struct ipc_cable_watch *from, uint32_t use, int fd);

/* Let the watch of an execution count since its beginning, and make its client the sandbox's in
 * *ret. Without a watch the sandbox is no client's. */
void watches_attach(const struct ipc_cable_execution *execution, struct party *ret);

/* Count a refusal for the watches of its sandbox. */
void watches_count(const struct ipc_connection_refused *refused);

/* A watch of a sandbox wants its open connections, whose rows go to watches_show(), with the number
 * of the look. For the user to define. */
void event_watch_look(const struct party *of, uint32_t look);
void watches_show(const struct ipc_connection_open *open);

/* A frontend wants a grant or a cut, over a watch of a sandbox or, if the slot of `from` is
 * GATEWAY_SLOTS, of its own. 0 or -errno. For the user to define. */
int event_watch_grant(const struct party *from, bool is_broker,
		      const struct ipc_network_grant *wanted);

/* End the watches of a sandbox. */
void watches_end(uint32_t slot);

/* Set the entries of poll(2); return how many there are. */
uint32_t watches_poll(struct pollfd polls[WATCHES_MAX]);

/* Serve the watches whose entries, those of the last watches_poll(), have events. */
void watches_turn(const struct pollfd *polls, uint32_t count);

#endif
