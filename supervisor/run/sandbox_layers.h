/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPERVISOR_RUN_SANDBOX_LAYERS_H
#define SUPERVISOR_RUN_SANDBOX_LAYERS_H

#include <stdint.h>

struct sandbox;

/* Send the factory, before it is asked for the init of a persistent sandbox, the directories that
 * its persistent mounts are made of. Return 0 or -errno; *ret_count is how many were sent. */
int sandbox_send_layers(const struct sandbox *sandbox, uint32_t *ret_count);

#endif
