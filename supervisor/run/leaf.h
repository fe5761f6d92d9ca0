/* SPDX-License-Identifier: Apache-2.0
 *
 * The cgroup leaves of a persistent sandbox, one for each execution in it.
 */
#ifndef SUPERVISOR_RUN_LEAF_H
#define SUPERVISOR_RUN_LEAF_H

#include "base/state.h"

/* Reserve a cgroup leaf for an execution that begins; -EBUSY when none is free. */
int leaf_join(struct sandbox *sandbox, uint32_t *ret_leaf);

/* Release the leaf of an execution that is gone, and plan the scan and the standby process
 * that follow. */
void leaf_leave(struct sandbox *sandbox, uint32_t leaf);

#endif
