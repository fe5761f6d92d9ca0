/* SPDX-License-Identifier: Apache-2.0
 *
 * The share of a bounded total that one holder may take, a principal of the broker or a sandbox of
 * the gateway. The rule is that of dynamic thresholds (Choudhury and Hahne, 1998): three times the
 * unused part. One holder alone gets three quarters, two get three sevenths each, and a newcomer
 * finds room as long as there are fewer holders than a third of the total.
 */
#ifndef COMMON_SHARE_H
#define COMMON_SHARE_H

#include <stdbool.h>
#include <stddef.h>

#define SHARE_RATIO 3U

/* Return whether `wanted` more fit beside the `used` of `total`. */
static inline bool share_fits(size_t used, size_t total, size_t wanted)
{
	return wanted <= total && used <= total - wanted;
}

/* Return whether one that holds `own` of these may take them. The added one lets a newcomer take
 * the last. */
static inline bool share_grants(size_t own, size_t used, size_t total, size_t wanted)
{
	return share_fits(used, total, wanted) &&
	       own + wanted <= SHARE_RATIO * (total - used - wanted + 1);
}

#endif
