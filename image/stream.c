/* SPDX-License-Identifier: Apache-2.0 */
#include "image/stream.h"

#include <archive_entry.h>
#include <string.h>

#include "image/ahead.h"
#include "image/refuse.h"

/* A callback of libarchive: the bytes before its filters. */
static la_ssize_t read_blob(struct archive *archive, void *context, const void **ret)
{
	struct stream *stream = context;
	const ssize_t size = input_read(&stream->file, ret);

	if (size > 0)
		digest_add(stream->blob, *ret, (size_t)size);
	return size;
}

/* A source to be read ahead: the bytes behind the filters. */
static ssize_t decode(void *decoder, const void **ret)
{
	return input_next(decoder, ret, "it cannot be decompressed");
}

int stream_begin(struct stream *stream, const struct input *input, const char *path, uint64_t most)
{
	struct archive_entry *entry;
	int found;

	*stream = (struct stream){ .file.fd = -1, .left = most };
	found = input_open(input, path, &stream->file);
	if (found <= 0)
		return found < 0 ? -1 : refuse("'%.200s' is missing in the image", path);
	stream->blob = digest_begin();
	stream->content = digest_begin();
	stream->decoder = input_decoder();
	if (archive_read_open(stream->decoder, stream, NULL, read_blob, NULL) != ARCHIVE_OK ||
	    archive_read_next_header(stream->decoder, &entry) != ARCHIVE_OK)
		return refuse("it is empty, or cannot be decompressed");
	ahead_begin(decode, stream->decoder);
	return 0;
}

ssize_t stream_read(struct stream *stream, const void **ret)
{
	const ssize_t size = ahead_next(ret);

	if (size <= 0)
		return size;
	if ((uint64_t)size > stream->left)
		return refuse("it is longer than its files can be: a bomb");
	stream->left -= (uint64_t)size;
	digest_add(stream->content, *ret, (size_t)size);
	return size;
}

static int compare(EVP_MD_CTX **digest, const char *wanted, const char *what)
{
	char found[IMAGE_DIGEST_MAX];

	digest_end(*digest, found);
	*digest = NULL;
	return wanted[0] == '\0' || strcmp(found, wanted) == 0
		       ? 0
		       : refuse("its %s is sha256:%s, and the image says sha256:%s: it was changed "
				"or damaged",
				what, found, wanted);
}

int stream_check(struct stream *stream, const char *blob, const char *content)
{
	const void *bytes;
	ssize_t size;

	do
		size = stream_read(stream, &bytes);
	while (size > 0);
	/* Bytes behind the end of the compressed ones. */
	while (size == 0 && (size = read_blob(NULL, stream, &bytes)) > 0)
		size = 0;
	if (size < 0 || compare(&stream->blob, blob, "digest") < 0)
		return -1;
	return compare(&stream->content, content, "diff_id");
}

void stream_end(struct stream *stream)
{
	ahead_end();
	(void)archive_read_free(stream->decoder); /* it was only read */
	EVP_MD_CTX_free(stream->blob);
	EVP_MD_CTX_free(stream->content);
	input_close(&stream->file);
}
