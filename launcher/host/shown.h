/* SPDX-License-Identifier: Apache-2.0
 *
 * An opened file or folder of the host that is to be shown to sandboxes, whoever asked for it.
 */
#ifndef LAUNCHER_HOST_SHOWN_H
#define LAUNCHER_HOST_SHOWN_H

#include "common/limits.h"
#include "launcher/host/mounts.h"
#include "launcher/host/protected.h"

#define SHOWN_TEXT_MAX PROTECTED_TEXT_MAX

/* The kernel's own name for an opened file. 0, or -errno; -ESTALE when that name leads elsewhere.
 */
int shown_real_path(int fd, char ret[IPC_PATH_MAX]);

/*
 * May the opened (O_PATH) `fd`, whose canonical path is `path`, be shown? Only a regular file or a
 * folder, in which nothing else is mounted, and only what protected_check() lets pass. 0, or -1
 * with one line for a person in `text`, with the path, the rule and what helps.
 */
int shown_check(int fd, const char *path, enum protected_use use, const struct mounts *mounts,
		const struct protected_set *set, char text[SHOWN_TEXT_MAX]);

#endif
