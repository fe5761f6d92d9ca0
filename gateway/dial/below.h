/* SPDX-License-Identifier: Apache-2.0
 *
 * The names below wildcards that each sandbox has had resolved. A workload chooses such a name, and
 * the world's name servers read it, so their number is bounded.
 */
#ifndef GATEWAY_DIAL_BELOW_H
#define GATEWAY_DIAL_BELOW_H

#include <stdbool.h>
#include <stdint.h>

/* A sandbox has so many names with an address (gateway/egress/names.h). */
#define BELOW_NAMES_MAX 512U

/* New names at once, of which one comes back each second. Nine of ten web pages need fewer than 52
 * hosts (HTTP Archive, 2014). */
#define BELOW_BURST 64U

/* Return whether a sandbox may have a name resolved: it has been before, or is a new one within the
 * bounds. `now_ms` is of a clock that only grows. */
bool below_take(uint32_t slot, const char *name, uint64_t now_ms);

/* Forget the names of a sandbox that has ended. */
void below_forget(uint32_t slot);

#endif
