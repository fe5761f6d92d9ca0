/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects that a commit names, and that are not in its repository: contents of git-lfs, which a
 * small blob names by their SHA-256, and commits of submodules. `git`: the host's .git, or
 * negative.
 */
#ifndef LAYERS_READER_BESIDE_H
#define LAYERS_READER_BESIDE_H

#include <stdbool.h>

#include "objects.h"

/* Return whether a blob is a pointer to a content that the host's git-lfs lacks. The content is not
 * read. */
bool beside_lacks_content(int git, const struct object *blob);

/* Return whether the submodule of this path is on the host, without that commit. Its name is its
 * path, as `git submodule add` has it; one of another name counts as not on the host. */
bool beside_lacks_commit(int git, const char *path, const uint8_t id[OBJECT_ID_BYTES]);

#endif
