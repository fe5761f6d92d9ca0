/* SPDX-License-Identifier: Apache-2.0
 *
 * The share of a bounded total that one sandbox may take: three times the unused part, as a
 * principal of the broker (broker/executions/share.h). A newcomer finds room beside those that take
 * all they can.
 */
#ifndef COMMON_SHARE_H
#define COMMON_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#define SHARE_RATIO 3U

/* Return whether a sandbox that holds `own` of the `used` of `total` may take one more. */
static inline bool share_allows(uint32_t own, uint32_t used, uint32_t total)
{
	return used < total && own < SHARE_RATIO * (total - used);
}

#endif
