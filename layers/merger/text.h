/* SPDX-License-Identifier: Apache-2.0
 *
 * The merge of three versions of a text, by libgit2 and with the result of git merge-file(1).
 */
#ifndef LAYERS_MERGER_TEXT_H
#define LAYERS_MERGER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	const uint8_t *bytes;
	size_t size;
};

/* The result of a merge. */
struct text_merged {
	uint8_t *bytes; /* malloc()ed; the caller's */
	size_t size;
	bool has_markers; /* both sides changed the same lines, which stand between markers */
};

/* Merge the changes of both sides since their base. 0; -EBADMSG: one of the three is binary for
 * git, which merges none; -ENOMEM; -ELIBBAD. Only after library_load(). */
int text_merge(const struct text *base, const struct text *host, const struct text *sandbox,
	       struct text_merged *ret);

#endif
