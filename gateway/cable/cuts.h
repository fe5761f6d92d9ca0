/* SPDX-License-Identifier: Apache-2.0
 *
 * The hosts that a person has taken away from a persistent sandbox, in a file of its own that the
 * supervisor hands over: they hold until a person gives them back, whatever becomes of the
 * sandbox's processes, of the service and of us.
 */
#ifndef GATEWAY_CABLE_CUTS_H
#define GATEWAY_CABLE_CUTS_H

#include "gateway/cable/cables.h"

/* Rows of one sandbox. Further ones are taken away until it stops, or for good with all hosts. */
#define CUTS_MAX 32U

/* Take over what the file says, into grants. A file that cannot be read, or says what we never
 * write, takes all hosts away. Return whether anything is taken away; or -ENOSPC: there is no room.
 */
int cuts_load(const struct cabled *sandbox);

/* Write what is taken away now. 0 or -errno; -E2BIG: there are too many rows. */
int cuts_save(const struct cabled *sandbox);

#endif
