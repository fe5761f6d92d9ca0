/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/cables.h"

#include <stddef.h>

struct cabled cables[GATEWAY_SLOTS];

struct cabled *cables_find(uint32_t slot, uint32_t use)
{
	return slot < GATEWAY_SLOTS && cables[slot].is_made && cables[slot].party.use == use
		       ? &cables[slot]
		       : NULL;
}
