/* SPDX-License-Identifier: Apache-2.0
 *
 * The entries of git's trees, and which of them git itself would refuse to check out.
 */
#ifndef LAYERS_READER_TREE_NAMES_H
#define LAYERS_READER_TREE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "library.h"

/* The modes that git writes. */
enum tree_mode {
	TREE_DIRECTORY = 0040000,
	TREE_FILE = 0100644,
	TREE_FILE_OLD = 0100664, /* in repositories from before 2006 */
	TREE_PROGRAM = 0100755,
	TREE_LINK = 0120000,
	TREE_COMMIT = 0160000, /* a submodule's */
	TREE_LACKING = 1,      /* in no tree: it names what the host lacks (beside.h) */
};

/* Files whose content git obeys. */
enum tree_special {
	TREE_PLAIN,
	TREE_MODULES,    /* .gitmodules */
	TREE_ATTRIBUTES, /* .gitattributes */
};

/* An entry; the texts point into the tree's bytes. */
struct tree_entry {
	uint32_t mode; /* enum tree_mode */
	const char *name;
	size_t name_size;
	const uint8_t *id;
	enum tree_special special;
};

/* Read the entry at *at and move on. 1; 0: there is none; -EBADMSG: it is malformed, git refuses
 * its name (".", "..", ".git" as any file system may spell it, with "/" or "\"), its mode is none
 * of enum tree_mode, its id is zero, or a special file is no file or is spelled in another way. */
int tree_entry_read(const uint8_t **at, const uint8_t *end, struct tree_entry *ret);

/* Compare as git sorts: a directory as if its name ended with "/". */
int tree_entry_compare(const struct tree_entry *left, const struct tree_entry *right);

#endif
