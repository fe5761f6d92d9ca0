/* SPDX-License-Identifier: Apache-2.0
 *
 * How a persistent sandbox works on a directory of the host, as messages, plans and metas have it.
 */
#ifndef COMMON_IPC_WORKSPACE_MODE_H
#define COMMON_IPC_WORKSPACE_MODE_H

enum workspace_mode {
	WORKSPACE_NONE = 0, /* an empty one of the sandbox's own */
	WORKSPACE_COPY,     /* copy-on-write */
	WORKSPACE_READ,
	WORKSPACE_WRITE, /* the directory itself, if the operator allows that */
	WORKSPACE_MODE_COUNT
};

#endif
