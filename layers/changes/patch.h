/* SPDX-License-Identifier: Apache-2.0
 *
 * A change as the text that git prints for it, which git apply takes.
 */
#ifndef LAYERS_CHANGES_PATCH_H
#define LAYERS_CHANGES_PATCH_H

#include "common/sha256.h"
#include "layers/base/tree.h"

struct patch {
	uint8_t *bytes; /* room for CHANGE_TEXT_MAX */
	size_t size;    /* 0: there is none; the flags or the kind say why */
	uint32_t flags; /* CHANGE_IS_BINARY, LARGE or UNREADABLE */
	bool has_hash;
	uint8_t hash[SHA256_BYTES]; /* files_hash() of the new content that was read for it */
};

/* Make that of a difference. 0 or -errno. */
int patch_make(const struct job_directories *directories, const struct difference *difference,
	       struct patch *ret);

/* Read an open file up to the size that it has now, and a byte more than CHANGE_TEXT_MAX, to be
 * known as too large; *ret_size begins with 0. 0 or -errno; the bytes are the caller's in any case.
 */
int patch_read(int file, uint8_t **ret, size_t *ret_size);

/* Return CHANGE_IS_BINARY or LARGE of a content that is compared with no other; 0: it is a text. */
uint32_t patch_judge(const uint8_t *bytes, size_t size);
void patch_free(struct patch *patch);

#endif
