/* SPDX-License-Identifier: Apache-2.0
 *
 * The refusals of the network in words. Hosts are in the one spelling, which has no character that
 * a terminal would obey; rule and remedy are those of the plan.
 */
#ifndef FRONTEND_DENIALS_NETWORK_H
#define FRONTEND_DENIALS_NETWORK_H

#include <stdint.h>

struct denial_views;
struct hint_source;
struct network_denials;

/* Add a view for each kind of refusals that `network` counts; NULL: none is counted. The output of
 * the execution is not read. */
void denials_add_network(const struct hint_source *source, const struct network_denials *network,
			 struct denial_views *ret);

/* Return the reason of a refusal in words; empty: there is no such reason. */
const char *denials_network_reason(uint32_t reason);

#endif
