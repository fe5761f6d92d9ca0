/* SPDX-License-Identifier: Apache-2.0
 *
 * A start without a network for what needs none.
 */
#ifndef LAUNCHER_HOST_NO_NETWORK_H
#define LAUNCHER_HOST_NO_NETWORK_H

#include <stdbool.h>

/*
 * Leave the network: this process goes into an empty network namespace, which belongs to a user
 * namespace of its own with the caller's ids alone. It has no capability there, nor has any program
 * that it starts or becomes. 0 or -errno; after an error it may be half way, and has to end.
 */
int no_network_enter(void);

/* Is this process in a network that leads nowhere but to itself? False if that is unknown. */
bool no_network_is_here(void);

#endif
