/* SPDX-License-Identifier: Apache-2.0 */
#include "inflate.h"

#include <errno.h>
#include <string.h>

#include "layers/base/beneath.h"

int inflate_begin(struct inflate *inflate, int file, off_t offset)
{
	memset(&inflate->stream, 0, sizeof(inflate->stream));
	inflate->file = file;
	inflate->at = offset;
	inflate->is_over = false;
	return library_zlib()->inflateInit_(&inflate->stream, ZLIB_VERSION,
					    (int)sizeof(inflate->stream)) == Z_OK
		       ? 0
		       : -ENOMEM;
}

static int fill_input(struct inflate *inflate)
{
	const ssize_t size =
		beneath_read(inflate->file, inflate->input, sizeof(inflate->input), inflate->at);

	if (size <= 0)
		return size < 0 ? (int)size : -EBADMSG;
	inflate->at += size;
	inflate->stream.next_in = inflate->input;
	inflate->stream.avail_in = (uInt)size;
	return 0;
}

ssize_t inflate_read(struct inflate *inflate, uint8_t *ret, size_t size)
{
	z_stream *stream = &inflate->stream;
	size_t used = 0;

	while (used < size && !inflate->is_over) {
		const size_t most = size - used < UINT32_MAX ? size - used : UINT32_MAX;
		int status = stream->avail_in > 0 ? 0 : fill_input(inflate);

		if (status)
			return status;
		stream->next_out = ret + used;
		stream->avail_out = (uInt)most;
		status = library_zlib()->inflate(stream, Z_NO_FLUSH);
		used += most - stream->avail_out;
		if (status == Z_STREAM_END)
			inflate->is_over = true;
		else if (status != Z_OK && status != Z_BUF_ERROR)
			return -EBADMSG;
	}
	return (ssize_t)used;
}

int inflate_check_end(struct inflate *inflate)
{
	uint8_t more;
	const ssize_t size = inflate_read(inflate, &more, 1);

	return size < 0 ? (int)size : size == 0 && inflate->is_over ? 0 : -EBADMSG;
}

void inflate_end(struct inflate *inflate)
{
	(void)library_zlib()->inflateEnd(&inflate->stream); /* it only frees */
}
