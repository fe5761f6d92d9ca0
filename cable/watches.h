/* SPDX-License-Identifier: Apache-2.0
 *
 * The frontends that watch the network of an execution or of a sandbox, each by a channel of its
 * own: msp-cable counts the refusals meanwhile and sends the counts at the end.
 */
#ifndef CABLE_WATCHES_H
#define CABLE_WATCHES_H

#include <poll.h>

#include "common/ipc_gateway.h"
#include "common/limits.h"

#define WATCHES_MAX (EXECUTIONS_MAX + FRONTENDS_MAX)

/* Begin a watch. The descriptor is taken; without room for a watch it is closed. */
void watches_begin(const struct ipc_cable_watch *from, int fd);

/* Let the watch of an execution, if there is one, count since its beginning. */
void watches_attach(const struct ipc_cable_execution *execution);

/* Count a refusal for the watches of its sandbox. */
void watches_count(const struct ipc_connection_refused *refused);

/* End the watches of a sandbox. */
void watches_end(uint32_t slot);

/* Set the entries of poll(2); return how many there are. */
uint32_t watches_poll(struct pollfd polls[WATCHES_MAX]);

/* Serve the watches whose entries, those of the last watches_poll(), have events. */
void watches_turn(const struct pollfd *polls, uint32_t count);

#endif
