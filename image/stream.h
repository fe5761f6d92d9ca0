/* SPDX-License-Identifier: Apache-2.0
 *
 * A layer as it comes, decompressed, with the digests of both. One at a time: a second thread reads
 * and decompresses it ahead of its use (image/ahead.h).
 */
#ifndef IMAGE_STREAM_H
#define IMAGE_STREAM_H

#include "image/digest.h"
#include "image/input.h"

struct stream {
	struct input_file file;
	struct archive *decoder;
	EVP_MD_CTX *blob, *content;
	uint64_t left; /* bytes that may come */
};

/* Begin to read a file of the image, of at most `most` decompressed bytes. 0, or -1 after a
 * refusal; end it in both cases. */
int stream_begin(struct stream *stream, const struct input *input, const char *path, uint64_t most);

/* Return the size of the next bytes, which stay until the next call; 0 at the end; or -1. */
ssize_t stream_read(struct stream *stream, const void **ret);

/* Read the rest, and compare the digests. `blob` may be empty: nobody has said it. 0 or -1. */
int stream_check(struct stream *stream, const char *blob, const char *content);

void stream_end(struct stream *stream);

#endif
