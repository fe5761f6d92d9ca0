/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers that a persistent sandbox has on disk, for reading them while nobody writes to them.
 */
#ifndef LAUNCHER_HOST_KEPT_LAYERS_H
#define LAUNCHER_HOST_KEPT_LAYERS_H

#include "common/limits.h"

struct kept_layers {
	int lock;      /* while it is open nobody else can have the sandbox */
	int directory; /* the one with all layers, O_PATH */
	uint32_t count;
	char ids[LAYERS_DEEP_MAX][IPC_ID_MAX]; /* names in the directory, the highest first */
};

/* Lock the sandbox with this id and read which layers it has. 0; -EBUSY: another msp has it;
 * -ENOENT; -EBADMSG: it is damaged; or another -errno. The caller closes them in each case. */
int kept_layers_open(const char *id, struct kept_layers *ret);
void kept_layers_close(struct kept_layers *layers);

#endif
