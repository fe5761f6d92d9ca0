/* SPDX-License-Identifier: Apache-2.0
 *
 * The synthetic addresses of one sandbox's names. A name keeps its address for the sandbox's life,
 * so the address of a connection says the name that was asked for.
 */
#ifndef GATEWAY_EGRESS_NAMES_H
#define GATEWAY_EGRESS_NAMES_H

#include <stdint.h>

#include "gateway/hosts/name.h"

#define NAMES_MAX 512U

struct names {
	uint32_t count;
	char names[NAMES_MAX][HOST_NAME_MAX_SIZE];
};

/* Return the address of a name in the one spelling, in host order; a new name gets the next one. 0:
 * the sandbox has NAMES_MAX others. */
uint32_t names_address(struct names *names, const char *name);

/* Return the name of an address, or NULL: it is no name's. */
const char *names_find(const struct names *names, uint32_t address);

#endif
