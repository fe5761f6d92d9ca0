/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/change_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "frontend/nonblocking.h"
#include "lib/heap/memory.h"

/* A pipe holds as much at once. Records without a patch take some hundred bytes. */
#define FIRST_ROOM ((size_t)64 << 10)

void change_stream_init(struct change_stream *stream, int fd)
{
	memset(stream, 0, sizeof(*stream));
	stream->fd = fd;
	(void)fd_set_nonblocking(fd, true); /* cannot fail on a pipe of ours */
}

void change_stream_done(struct change_stream *stream)
{
	fd_close(&stream->fd);
	free(stream->bytes);
	stream->bytes = NULL;
	stream->room = stream->begin = stream->end = 0;
}

/* Room behind what is there. A record that fills the largest buffer is complete, so that there is
 * always some: changes_read() takes none that is longer. */
static void make_room(struct change_stream *stream)
{
	const size_t kept = stream->end - stream->begin;

	if (stream->begin > 0)
		memmove(stream->bytes, stream->bytes + stream->begin, kept);
	stream->begin = 0;
	stream->end = kept;
	if (stream->end < stream->room)
		return;
	stream->room = stream->room ? stream->room * 2 : FIRST_ROOM;
	if (stream->room > CHANGE_STREAM_MAX)
		stream->room = CHANGE_STREAM_MAX;
	stream->bytes = memory_resize(stream->bytes, stream->room);
}

/* Tell of every record that is complete. 0 or -EBADMSG. */
static int tell_record(struct change_stream *stream, change_stream_found *found, void *context)
{
	struct change change;
	long size;

	for (;;) {
		size = changes_read(stream->bytes + stream->begin, stream->end - stream->begin,
				    &change);
		if (size <= 0)
			return (int)size;
		if (changes_is_progress(&change.is))
			stream->progress =
				(struct change_progress){ change.is.flags, change.is.old_size,
							  change.is.new_size };
		else
			found(context, &change);
		stream->begin += (size_t)size;
	}
}

static int end_stream(struct change_stream *stream, int result)
{
	fd_close(&stream->fd);
	return result;
}

int change_stream_read(struct change_stream *stream, change_stream_found *found, void *context)
{
	ssize_t got;
	int error;

	make_room(stream);
	got = read(stream->fd, stream->bytes + stream->end, stream->room - stream->end);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 1;
	if (got < 0)
		return end_stream(stream, -errno);
	if (got == 0)
		return end_stream(stream, stream->end > stream->begin ? -EBADMSG : 0);
	stream->end += (size_t)got;
	error = tell_record(stream, found, context);
	return error ? end_stream(stream, error) : 1;
}
