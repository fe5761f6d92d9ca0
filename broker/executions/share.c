/* SPDX-License-Identifier: Apache-2.0 */
#include "executions/share.h"

#define RATIO 3U

bool share_allows(uint32_t principal, size_t own, size_t used, size_t total, size_t wanted)
{
	if (wanted > total || used > total - wanted)
		return false;
	/* the added one lets a newcomer take the last */
	return principal == 0 || own + wanted <= RATIO * (total - used - wanted + 1);
}

bool share_is_plenty(size_t used, size_t total)
{
	return used <= total / (RATIO + 1);
}
