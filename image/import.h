/* SPDX-License-Identifier: Apache-2.0
 *
 * The acts of msp-image. All are confined, and fail with the reason kept (image/refuse.h).
 */
#ifndef IMAGE_IMPORT_H
#define IMAGE_IMPORT_H

#include <stdint.h>

/* Unpack an image's layers that are not there, of at most `most` bytes, into the directory for new
 * ones, and write its manifest. `input` becomes ours. 0 with the report filled, or -1. */
int image_import(int input, int incoming, int layers, uint64_t most);

/* Write the manifest again, without figures, of what an import has left in the directory `made`. 0
 * or -1. */
int image_check(int made, int incoming);

struct pack_source;

/* Make one layer of those of a sandbox, of at most `most` bytes, unless it is there. Returns 0 with
 * the report filled, or -1. */
int image_pack(const struct pack_source *from, int incoming, int layers, uint64_t most);

/* Remove everything in a directory. 0 or -1. */
int image_remove(int directory);

#endif
