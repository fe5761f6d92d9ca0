/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandbox with a cable, as far as its network goes: a user namespace stands for the factory's,
 * and one inside it for the sandbox's, whose process has no capability.
 */
#ifndef TESTS_UNIT_CABLE_NETNS_H
#define TESTS_UNIT_CABLE_NETNS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "gateway/cable/cable.h"

/* The machine has no user namespaces for us: the result of run_with_cable(). */
#define NETNS_NONE 77

extern const uint16_t netns_ports[2];

/* Run `act` in the sandbox, and `watch` (NULL: none) at the other end of its cable. 0, or the first
 * wrong result of the two. */
int run_with_cable(int (*act)(void), bool has_cable, int (*watch)(struct cable *));

/* Connect a socket of the type; 0 or errno, at most a second later. */
int connect_to(int type, const char *host, uint16_t port);

#define EXPECT(claim)                                                                              \
	do {                                                                                       \
		if (!(claim)) {                                                                    \
			fprintf(stderr, "line %d: %s, errno %d\n", __LINE__, #claim, errno);       \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

#endif
