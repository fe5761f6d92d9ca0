/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's index as a branch moves: the entries of the files that its commits change follow, if
 * they are what the old commit has; all other entries stay. The result has neither the times of
 * files, which git looks up again, nor extensions: equal entries are equal bytes.
 */
#ifndef LAYERS_BRANCHES_INDEX_EDIT_H
#define LAYERS_BRANCHES_INDEX_EDIT_H

#include "layers/reader/reader.h"

struct index_change {
	char *path;
	struct reader_file file;
};

/* Make a new index of the one in `bytes`. `changes`: in the order of strcmp(), each path once. *ret
 * is malloc()ed. 0; -ESTALE: the entry of a change is neither old nor new; -ENOTSUP: the index is
 * split or sparse, has a conflict or an entry that git is told to pass over, or another hash;
 * -EBADMSG; -ENOMEM. */
int index_edit(const uint8_t *bytes, size_t size, const struct index_change *changes, size_t count,
	       uint8_t **ret, size_t *ret_size);

#endif
