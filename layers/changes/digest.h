/* SPDX-License-Identifier: Apache-2.0
 *
 * The digest of a consent: all that a preview finds among the chosen paths, and the contents that
 * would be brought. A preview reports it, and an apply that is given one compares before it begins.
 */
#ifndef LAYERS_CHANGES_DIGEST_H
#define LAYERS_CHANGES_DIGEST_H

#include "common/sha256.h"
#include "layers/base/job.h"

/* Return held_flags() and base_flags(). */
uint32_t digest_flags(const struct job *job, const struct difference *difference);

/* The next difference, in the order of tree_compare(), with these flags. `shown`: files_hash() of
 * the new content, or of where a new link points, that somebody was shown; NULL: it is read now.
 * What cannot be read is counted as that. */
void digest_add(struct sha256 *digest, const struct job_directories *directories,
		const struct difference *difference, uint32_t flags, const uint8_t *shown);

#endif
