/* SPDX-License-Identifier: Apache-2.0
 *
 * The frontends that watch the network of an execution, each by a channel of its own: msp-cable
 * counts the refusals meanwhile and sends the counts at the end. A frontend that looks at a sandbox
 * gets what there is.
 */
#ifndef CABLE_WATCHES_H
#define CABLE_WATCHES_H

#include <poll.h>

#include "common/ipc_gateway.h"
#include "common/limits.h"

#define WATCHES_MAX (EXECUTIONS_MAX + FRONTENDS_MAX)

/* Begin the watch of an execution. The descriptor is taken; without room for a watch it is closed.
 */
void watches_begin(const struct ipc_cable_watch *from, int fd);

/* Let the watch of an execution, if there is one, count since its beginning. */
void watches_attach(const struct ipc_cable_execution *execution);

/* Count a refusal for the watches of its sandbox. */
void watches_count(const struct ipc_connection_refused *refused);

/* Note a connection that begins, or has ended. */
void watches_connect(const struct ipc_connection_begin *begin);
void watches_disconnect(uint64_t number);

/* Tell a frontend the connections of a cable and its last refusals. The descriptor is taken. */
void watches_tell(uint32_t slot, uint32_t use, int fd);

/* End the watches of a sandbox. */
void watches_end(uint32_t slot);

/* Set the entries of poll(2); return how many there are. */
uint32_t watches_poll(struct pollfd polls[WATCHES_MAX]);

/* Serve the watches whose entries, those of the last watches_poll(), have events. */
void watches_turn(const struct pollfd *polls, uint32_t count);

#endif
