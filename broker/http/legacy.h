/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions of the legacy era: made by `initialize`, named by the header Mcp-Session-Id, ended by
 * DELETE, by time, or with the token of who made them. A session's name alone is not enough: it
 * works for the principal that made it.
 *
 * A lost connection ends nothing: what is said then is kept for a client that comes back with the
 * id of the last event it saw (replay.h).
 */
#ifndef BROKER_HTTP_LEGACY_H
#define BROKER_HTTP_LEGACY_H

#include "http/http.h"
#include "http/replay.h"
#include "mcp/session.h"

/* Principals share both (share.h). */
#define LEGACY_SESSIONS_MAX 256U
#define LEGACY_REPLAY_BYTES_MAX ((size_t)64 << 20)

/* 256 random bits in hexadecimal. */
#define LEGACY_ID_CHARS 64

/* When a client that lost a stream should come back, as it is told. */
#define LEGACY_RETRY "retry: 1000\n"

struct post;

struct legacy {
	struct legacy *next;
	struct http *http;
	char id[LEGACY_ID_CHARS + 1];
	struct session session;
	struct exchange channel;     /* for what belongs to no request */
	struct connection *listener; /* its stream; NULL: none is open */
	uint64_t said;               /* events of the channel so far */
	uint64_t heard;              /* of them, handed to a listener */
	struct post *posts;          /* whose answer is not complete */
	uint64_t last_stream;        /* number of the newest answer that became a stream */
	struct replay replay;
	int64_t used_ms; /* when it was of use last */
};

/* A new one; NULL: the principal has its share, all in use. */
struct legacy *legacy_new(struct http *http, uint32_t principal);

/* Keep an event for a client that lost its stream. */
void legacy_keep(struct legacy *legacy, const struct replay_id *id, const struct buffer *message);

/* Cancel what is in flight, end its streams, free it. */
void legacy_end(struct legacy *legacy);

/* The one that a request names. NULL: the request has been refused. */
struct legacy *legacy_find(const struct inbound *inbound);

/* Do its streams begin with an event that has only an id? Clients of before 2025-11-25 would read
 * its empty data as a message. */
bool legacy_is_primed(const struct legacy *legacy);

/* GET and DELETE. */
void legacy_get(const struct inbound *inbound);
void legacy_delete(const struct inbound *inbound);

/* End what is idle for too long, or whose principal is no longer admitted. */
void legacy_sweep(struct http *http);

#endif
