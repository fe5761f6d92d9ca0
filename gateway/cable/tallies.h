/* SPDX-License-Identifier: Apache-2.0
 *
 * The refusals of executions, counted by kinds: in a persistent sandbox from the begin of each, in
 * an ephemeral one, which has one execution, as they come. After an execution's end its tally is
 * kept until the frontend asks for it.
 */
#ifndef GATEWAY_CABLE_TALLIES_H
#define GATEWAY_CABLE_TALLIES_H

#include <stdbool.h>

#include "common/ipc/channel.h"
#include "common/ipc/ipc_gateway.h"
#include "common/limits.h"

/* Ended executions whose tallies are kept: frontends ask at once. */
#define TALLIES_KEPT_MAX 256U

/* Begin the tally of an execution in a persistent sandbox. Its first refusals may have come before.
 */
void tallies_begin(const struct ipc_cable_execution *execution);

/* Count a refusal for the executions of its sandbox. */
void tallies_count(const struct ipc_connection_refused *refused, bool is_ephemeral);

/* Keep the tally of an execution that is over, in the place of the oldest one. */
void tallies_keep(const struct ipc_cable_execution *execution);

/* Drop the tallies of the executions that a sandbox has at its end. */
void tallies_end(uint32_t slot);

/* Send what is kept of a frontend's request, once. */
void tallies_tell(uint32_t frontend, uint64_t request, const struct channel *to);

/* Send the last refusals of a sandbox, among the last of all, as far as the frontend takes them. */
void tallies_look(uint32_t slot, uint32_t use, const struct channel *to);

#endif
