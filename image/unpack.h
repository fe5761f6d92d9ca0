/* SPDX-License-Identifier: Apache-2.0
 *
 * Unpacking one layer, as overlayfs wants it below others.
 *
 * Everything belongs to the user, without set-ID bits and extended attributes; directories can be
 * opened and files can be read by him. Devices, FIFOs and sockets are left out. Whiteouts become
 * devices with the number 0, opaque directories get overlayfs' attribute.
 */
#ifndef IMAGE_UNPACK_H
#define IMAGE_UNPACK_H

#include "image/stream.h"

/* Entries in the new layers of an image. */
#define UNPACK_ENTRIES_MAX 1000000U

struct unpack {
	uint64_t bytes, entries; /* of new layers; counted as in struct image_layer */
	uint64_t most_bytes;
};

/* Unpack a stream into the directory `root`, which becomes ours; -1 if it was refused. 0 or -1,
 * with the reason kept. */
int unpack_layer(struct unpack *unpack, struct stream *stream, int root);

#endif
