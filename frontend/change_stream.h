/* SPDX-License-Identifier: Apache-2.0
 *
 * The frontend's end of the pipe that change records come through (common/records/changes.h): read
 * as they come, one record at a time in memory, whatever their number. There is no event loop in
 * here and nothing blocks: the caller waits for the descriptor to become readable.
 *
 * Aborts when memory runs out.
 */
#ifndef FRONTEND_CHANGE_STREAM_H
#define FRONTEND_CHANGE_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "frontend/changes.h"

/* Bytes of one record with all that its texts may hold: the most that is ever kept. */
#define CHANGE_STREAM_MAX                                                                          \
	(sizeof(struct change_record) + 3 * (size_t)(IPC_PATH_MAX - 1) + CHANGE_TEXT_MAX)

/* The stage of the work behind the records, and how many files it has done of `total`, 0: unknown.
 */
struct change_progress {
	uint32_t stage; /* enum change_stage; NONE: nothing was told yet */
	uint64_t done, total;
};

struct change_stream {
	int fd; /* to wait for; -1: there is nothing more to come */
	uint8_t *bytes;
	size_t room;
	size_t begin, end;               /* bytes that were read and not told yet */
	struct change_progress progress; /* as last told */
};

/* Called for each record. The change and its texts are only valid during the call, in which the
 * stream must not be touched. */
typedef void change_stream_found(void *context, const struct change *change);

/* Read from `fd`, the end of the pipe that supervisor_handlers.on_changes() hands over: it belongs
 * to the stream from now on, and is made nonblocking. */
void change_stream_init(struct change_stream *stream, int fd);

/*
 * Read once, and tell of each record that is complete. 1: wait for the descriptor and call again;
 * 0: that was all; -EBADMSG: what came is no record, or ends within one; another -errno of read(2).
 * After anything but 1 the descriptor is closed.
 */
int change_stream_read(struct change_stream *stream, change_stream_found *found, void *context);

/* Close it and free what it holds. Whoever still writes sees that nobody reads. */
void change_stream_done(struct change_stream *stream);

#endif
