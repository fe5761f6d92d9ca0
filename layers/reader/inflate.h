/* SPDX-License-Identifier: Apache-2.0
 *
 * Decompress bytes of a file from an offset: a loose object, or an entry of a pack.
 */
#ifndef LAYERS_READER_INFLATE_H
#define LAYERS_READER_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "library.h"

#define INFLATE_INPUT_BYTES ((size_t)16 << 10)

struct inflate {
	z_stream stream;
	int file;
	off_t at;
	bool is_over;
	uint8_t input[INFLATE_INPUT_BYTES];
};

/* Begin at `offset` of `file`, which stays the caller's. 0 or -ENOMEM. */
int inflate_begin(struct inflate *inflate, int file, off_t offset);

/* Read up to `size` bytes. Return how many; fewer than `size` only at the end of the stream. -EIO
 * or -EBADMSG: the file ends early or is damaged. */
ssize_t inflate_read(struct inflate *inflate, uint8_t *ret, size_t size);

/* Return 0 if nothing is left in the stream and its checksum is right; else -EBADMSG. */
int inflate_check_end(struct inflate *inflate);

void inflate_end(struct inflate *inflate);

#endif
