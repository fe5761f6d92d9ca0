/* SPDX-License-Identifier: Apache-2.0
 *
 * Symbolic links and what the host executes by itself: .git/hooks/pre-commit is often one that
 * leads to a script of the project, which is then as good as the hook.
 */
#ifndef LAYERS_BASE_HELD_LINKS_H
#define LAYERS_BASE_HELD_LINKS_H

#include "layers/base/job.h"

/* Follow `target`, the text of a link at `path`, through the links that the host has, as the kernel
 * would. Return the end's path beneath the workspace, empty for the workspace itself; it need not
 * exist. False: it lies outside, or cannot be told. */
bool held_links_follow(const struct job *job, const char *path, const char *target,
		       char ret[IPC_PATH_MAX]);

/* Does a link of the host whose own name is held lead to this path, or above it? True for any path
 * if there are more names to search than a bound allows, or memory is short. Searches once, and
 * remembers. */
bool held_links_lead_to(const struct job *job, const char *path);

/* Does such a link, or git's configuration, lead to something below this path? */
bool held_links_lead_below(const struct job *job, const char *path);

#endif
