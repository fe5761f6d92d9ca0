/* SPDX-License-Identifier: Apache-2.0
 *
 * The addresses of names: from the cache, or from the machine's name servers. Questions for one
 * name are one question to them.
 */
#ifndef GATEWAY_DIAL_LOOKUP_H
#define GATEWAY_DIAL_LOOKUP_H

#include "gateway/dial/resolve.h"

/* Return what is known of a name, until the next call of any of these functions; or NULL: the
 * answer comes by event_lookup_done(), perhaps before the return. A sandbox that has its share of
 * the names that are asked for gets a failure (common/share.h). */
const struct resolution *lookup_name(uint32_t slot, const char *name, uint64_t now_ms);

/* Set what to wait for, and handle what has come: as resolver_wants(), resolver_handle(). */
uint32_t lookup_wants(struct pollfd polled[RESOLVE_SOCKETS_MAX], int *timeout_ms);
void lookup_handle(const struct pollfd *polled, uint32_t count, uint64_t now_ms);

/* The answer for a name, for the user of these functions to define. */
void event_lookup_done(const char *name, const struct resolution *resolution);

#endif
