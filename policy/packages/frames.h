/* SPDX-License-Identifier: Apache-2.0
 *
 * A frame is a tree of empty directories, one for each of the host's. As a layer of an overlay
 * above the host's tree it makes these directories the user's own: the kernel copies no directory
 * up whose owner the sandbox does not know, and so nothing could be made in one.
 */
#ifndef POLICY_PACKAGES_FRAMES_H
#define POLICY_PACKAGES_FRAMES_H

#include "common/limits.h"

/* In the directory of the copies. */
#define FRAMES_TREE "frames"

/* Bring the frame of the host's tree at `source` (NULL: an empty one) up to date, below the
 * directory at `place`, and print its path. 0 or -errno. */
int frames_make(const char *place, const char *source, char ret[IPC_PATH_MAX]);

#endif
