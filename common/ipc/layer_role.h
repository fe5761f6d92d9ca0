/* SPDX-License-Identifier: Apache-2.0
 *
 * The directories of a persistent mount, as messages have them.
 */
#ifndef COMMON_IPC_LAYER_ROLE_H
#define COMMON_IPC_LAYER_ROLE_H

enum layer_role {
	LAYER_LOWER = 1, /* the highest first */
	LAYER_UPPER,
	LAYER_WORK,  /* the directory that overlayfs wants beside the upper, in the same layer */
	LAYER_READ,  /* alone: a directory to be bound, read-only */
	LAYER_WRITE, /* as LAYER_READ, not read-only */
	LAYER_ROLE_COUNT
};

#endif
