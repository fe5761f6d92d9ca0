/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers of a sandbox as the archive of one layer of an image: what they show when they lie over
 * one another. The same files give the same bytes: names are sorted, owners are 0, and times have
 * whole seconds.
 *
 * A workload wrote the files. Of overlayfs' marks only whiteouts and opaque directories are
 * followed, which a workload can only make by removing something; others are refused.
 */
#ifndef IMAGE_PACK_H
#define IMAGE_PACK_H

#include <stdint.h>

#include "image/manifest.h"

/* Each is one bit of a word. */
#define PACK_LAYERS_MAX 32U

struct pack_source {
	int layers[PACK_LAYERS_MAX]; /* the highest first */
	uint32_t count;
	char *const *left_out; /* paths of what is no part of the files, NULL behind the last one */
};

/* Write the archive of the layers, of at most `most` bytes. Returns 0 with the archive's digest and
 * the number of its entries, or -1 with the reason kept. */
int pack_layers(const struct pack_source *source, int to, uint64_t most,
		char ret_digest[IMAGE_DIGEST_MAX], uint64_t *ret_entries);

#endif
