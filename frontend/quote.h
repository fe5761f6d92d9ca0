/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths that somebody else chose, on one line: a path with an odd byte stands in double quotes with
 * C's escapes, as git writes it.
 */
#ifndef FRONTEND_QUOTE_H
#define FRONTEND_QUOTE_H

#include <stddef.h>

#include "lib/heap/buffer.h"

enum quote_use {
	QUOTE_ASCII,  /* each byte beyond ASCII is odd: git's form, for patches and terminals */
	QUOTE_UTF8,   /* characters stay, but for hidden ones */
	QUOTE_LISTED, /* as UTF8; spaces and punctuation are odd, which make two names of one */
};

/* Append a path. */
void quote_path(struct buffer *text, enum quote_use use, const void *path, size_t size);

/* Append a path with a text of ours before and behind it, within the quotes. */
void quote_path_with(struct buffer *text, enum quote_use use, const char *before, const void *path,
		     size_t size, const char *behind);

#endif
