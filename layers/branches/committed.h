/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes that come with a commit: the commit that the sandbox has checked out has them as the
 * sandbox's files show them. Where the apply brings it as a ref, or the host has it already, they
 * are not written into the work tree, so that git can merge or check out the commit there.
 */
#ifndef LAYERS_BRANCHES_COMMITTED_H
#define LAYERS_BRANCHES_COMMITTED_H

#include "layers/base/job.h"

/* Find what the sandbox's commit changes, compared with the host's HEAD; nothing where files are
 * asked for, by CHANGES_FILES or a chosen path, and of a branch that is checked out here. After
 * commits_find(). 0 or -errno. */
int committed_find(const struct job *job);

/* Return whether that commit has a change; of a new or deleted directory, one of a file in it. */
bool committed_has(const struct job *job, const struct difference *difference);

#endif
