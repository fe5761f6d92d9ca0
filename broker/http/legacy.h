/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions of the legacy era: made by `initialize`, named by the header Mcp-Session-Id, ended by
 * DELETE, by time, or when the token of their principal is revoked. A session's name alone is not
 * enough: it works only for the principal that made it.
 *
 * A lost connection ends no session: its events are kept for a client that comes back with the id
 * of the last event it saw (replay.h).
 */
#ifndef BROKER_HTTP_LEGACY_H
#define BROKER_HTTP_LEGACY_H

#include "http/http.h"
#include "http/replay.h"
#include "mcp/core/session.h"

/* Bounds of sessions and kept events; principals share both (share.h). */
#define LEGACY_SESSIONS_MAX 256U
#define LEGACY_REPLAY_BYTES_MAX ((size_t)64 << 20)

/* 256 random bits in hexadecimal. */
#define LEGACY_ID_CHARS 64

struct post;

struct legacy {
	struct exchange channel; /* first; for messages that belong to no request */
	struct legacy *next;
	struct http *http;
	char id[LEGACY_ID_CHARS + 1];
	struct session session;
	struct connection *listener; /* stream of the channel; NULL: none is open */
	uint64_t said;               /* events of the channel so far */
	uint64_t heard;              /* events that a listener was given */
	struct post *posts;          /* POSTs whose answer is not complete */
	uint64_t last_stream;        /* number of the newest answer that became a stream */
	struct replay replay;
	int64_t used_ms; /* when it was last used */
};

/* Make a session. NULL: the principal has its share, and all its sessions are in use. */
struct legacy *legacy_new(struct http *http, uint32_t principal);

/* Keep an event for a client that lost its stream. */
void legacy_keep(struct legacy *legacy, const struct replay_id *id, const struct buffer *message);

/* Cancel the requests of a session, end its streams, free it. */
void legacy_end(struct legacy *legacy);

/* Find the session that a request names. NULL: the request has been refused. */
struct legacy *legacy_find(const struct inbound *inbound);

/* Start a stream, of a session or of none (NULL), after the event `id`. It begins with an event
 * that has only an id, or for clients of before 2025-11-25, which would read its empty data as a
 * message, with `otherwise`. */
void legacy_start_stream(const struct legacy *legacy, struct connection *connection,
			 const struct replay_id *id, const char *otherwise);

/* Answer GET and DELETE. */
void legacy_get(const struct inbound *inbound);
void legacy_delete(const struct inbound *inbound);

/* End sessions that are idle for too long, or whose principal is no longer admitted. */
void legacy_sweep(struct http *http);

#endif
