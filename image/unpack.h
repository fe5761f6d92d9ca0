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

#include "image/room.h"
#include "image/stream.h"

/* Unpack a stream into a new directory in `incoming`. 0 or -1, with the reason kept. */
int unpack_layer(struct room *room, struct stream *stream, int incoming, const char *diff_id);

#endif
