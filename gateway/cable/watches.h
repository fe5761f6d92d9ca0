/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks of frontends at the network of a sandbox, and at the hosts that are asked for.
 */
#ifndef GATEWAY_CABLE_WATCHES_H
#define GATEWAY_CABLE_WATCHES_H

#include "common/ipc/channel.h"
#include "common/ipc/ipc_gateway.h"
#include "common/limits.h"
#include "gateway/cable/cables.h"

/* Looks at once: msp-egress answers at once. */
#define LOOKS_MAX (4 * FRONTENDS_MAX)

/* Show the network of a sandbox. The descriptor is taken, and closed when all is shown, or where
 * there is no room for a look. */
void watches_look(const struct party *of, int fd);

/* A look wants the open connections of its sandbox, whose rows go to watches_show(), with the
 * number of the look. For the user to define. */
void event_watch_look(const struct party *of, uint32_t look);
void watches_show(const struct ipc_connection_open *open);

/* Show the hosts that are asked for, as far as the frontend takes them. */
void watches_question(const struct channel *to);

#endif
