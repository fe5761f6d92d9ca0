/* SPDX-License-Identifier: Apache-2.0 */
#include "executions/share.h"

#include "common/share.h"

bool share_allows(uint32_t principal, size_t own, size_t used, size_t total, size_t wanted)
{
	return principal == 0 ? share_fits(used, total, wanted)
			      : share_grants(own, used, total, wanted);
}

bool share_is_plenty(size_t used, size_t total)
{
	return used <= total / (SHARE_RATIO + 1);
}
