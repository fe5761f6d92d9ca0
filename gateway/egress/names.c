/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/egress/names.h"

#include <stddef.h>
#include <string.h>

/* Networks of special purpose with nobody's service: programs take their addresses for public ones,
 * as they must, since guards in programs refuse private addresses. The first and the last address
 * of each are left out. */
static const uint32_t networks[] = {
	0xc01fc400, /* 192.31.196.0/24 */
	0xc034c100, /* 192.52.193.0/24 */
	0xc0af3000, /* 192.175.48.0/24 */
};

#define PER_NETWORK 254U

_Static_assert(sizeof(networks) / sizeof(networks[0]) * PER_NETWORK >= NAMES_MAX, "room for all");

uint32_t names_address(struct names *names, const char *name)
{
	uint32_t index = 0;

	while (index < names->count && strcmp(names->names[index], name) != 0)
		index++;
	if (index == NAMES_MAX)
		return 0;
	if (index == names->count)
		memcpy(names->names[names->count++], name, strlen(name) + 1);
	return networks[index / PER_NETWORK] + 1 + index % PER_NETWORK;
}

const char *names_find(const struct names *names, uint32_t address)
{
	const uint32_t last = address & 0xff;

	for (uint32_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
		const uint32_t index = i * PER_NETWORK + last - 1;

		if ((address & ~0xffU) == networks[i] && last >= 1 && last <= PER_NETWORK &&
		    index < names->count)
			return names->names[index];
	}
	return NULL;
}
