/* SPDX-License-Identifier: Apache-2.0
 *
 * Server-sent events of one legacy session, kept for a client that lost its connection. An event's
 * id is "STREAM-NUMBER": the stream is that of one answer, or number 0, the session's own; within
 * it events are numbered from 1. A client that names the last event it saw gets the rest.
 */
#ifndef BROKER_HTTP_REPLAY_H
#define BROKER_HTTP_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/heap/buffer.h"

/* Beyond this bound the oldest events make room for new ones. */
#define REPLAY_BYTES_MAX ((size_t)1 << 20)
#define REPLAY_EVENTS_MAX 1024U

struct replay_id {
	uint64_t stream;
	uint64_t number;
};

struct replay_event {
	struct replay_event *next;
	struct replay_id id;
	size_t size;
	char bytes[]; /* the message */
};

/* Kept events; an all-zero struct has none. */
struct replay {
	struct replay_event *first;
	struct replay_event *last;
	size_t bytes;
	uint32_t count;
};

void replay_keep(struct replay *replay, const struct replay_id *id, const struct buffer *message);
void replay_done(struct replay *replay);

/* Forget the oldest event; there must be one. */
void replay_drop_oldest(struct replay *replay);

/* Return the first kept event of the stream after this one; NULL: none. */
const struct replay_event *replay_after(const struct replay *replay, const struct replay_id *id);

/* Read an id that a client sent. False: the server never made it. */
bool replay_read_id(const char *text, struct replay_id *ret);

/* Append one event; `id` NULL: without an id. No bytes: an event with only its id. */
void event_append(struct buffer *out, const struct replay_id *id, const char *bytes, size_t size);

#endif
