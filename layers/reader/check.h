/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects that git-fsck(1) refuses with --strict, and that git's own fetch would refuse with
 * transfer.fsckObjects. Names, modes and the order of trees are checked as they are read.
 */
#ifndef LAYERS_READER_CHECK_H
#define LAYERS_READER_CHECK_H

#include "objects.h"
#include "tree_names.h"

/* Check the head of a commit or tag; an object of another type passes. 0 or -EBADMSG. */
int check_head(const struct object *object);

/* Check a tag's word about the type of its object. 0 or -EBADMSG. */
int check_tagged(const struct object *tag, uint32_t type);

/* Check the content of a file of git's by its name: `.gitmodules` and `.gitattributes`. A
 * `.gitmodules` of an uncommon form is refused too. 0 or -EBADMSG. */
int check_content(enum tree_special special, const struct object *object);

#endif
