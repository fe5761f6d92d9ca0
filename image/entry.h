/* SPDX-License-Identifier: Apache-2.0
 *
 * The path of an entry of a layer, and what it stands for. No system call.
 */
#ifndef IMAGE_ENTRY_H
#define IMAGE_ENTRY_H

#include <limits.h>

/* The beginning of names that hide others, and the name that has a directory hide lower ones. */
#define ENTRY_MARK ".wh."
#define ENTRY_OPAQUE_NAME ".wh..wh..opq"

enum entry_kind {
	ENTRY_FILE,     /* of any type */
	ENTRY_ROOT,     /* the layer's own directory */
	ENTRY_WHITEOUT, /* hides `name` of lower layers */
	ENTRY_OPAQUE,   /* `directory` hides that of lower layers */
	ENTRY_IGNORED,  /* a note of the tool that made the layer */
};

/* A path in the one spelling, split. */
struct entry_path {
	char text[PATH_MAX];   /* the directory, a NUL, the name */
	const char *directory; /* "" is the layer's own */
	const char *name;
};

/* Read a path of an archive. NULL, or the rule that it breaks, as a phrase. */
const char *entry_read(const char *path, struct entry_path *ret, enum entry_kind *ret_kind);

#endif
