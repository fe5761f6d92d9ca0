/* SPDX-License-Identifier: Apache-2.0
 *
 * The share that one principal may take of a bounded total (common/share.h).
 */
#ifndef BROKER_EXECUTIONS_SHARE_H
#define BROKER_EXECUTIONS_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return true if `principal`, which holds `own` of the `used` of `total`, may take `wanted` more.
 * Principal 0 has no share: it exists only where clients need no token. */
bool share_allows(uint32_t principal, size_t own, size_t used, size_t total, size_t wanted);

/* Return true if so little of the total is used that no principal can exceed its share. */
bool share_is_plenty(size_t used, size_t total);

#endif
