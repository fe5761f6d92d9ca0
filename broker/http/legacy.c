/* SPDX-License-Identifier: Apache-2.0 */
#include "http/legacy.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "executions/share.h"
#include "http/ladder.h"
#include "http/post.h"
#include "io/clock.h"
#include "lib/heap/chain.h"
#include "lib/heap/memory.h"
#include "mcp/core/era.h"

/* Time without a request, a stream or a running execution. */
#define IDLE_MS ((int64_t)30 * 60 * 1000)

/* Time after which a client should reconnect a lost stream. */
#define RETRY "retry: 1000\n"

#define SESSION_HEADER "Mcp-Session-Id"

static struct legacy *legacy_of(struct exchange *channel)
{
	return (struct legacy *)channel;
}

/* Bound the events kept for lost streams in all sessions: a principal beyond its share loses its
 * oldest first. */
static void fit_replays(const struct legacy *newest)
{
	const uint32_t principal = newest->session.principal;
	struct legacy *largest;
	size_t own, all;

	do {
		own = all = 0;
		largest = NULL;
		for (struct legacy *l = newest->http->sessions; l; l = l->next) {
			all += l->replay.bytes;
			if (l->session.principal != principal)
				continue;
			own += l->replay.bytes;
			if (!largest || l->replay.bytes > largest->replay.bytes)
				largest = l;
		}
		if (share_allows(principal, own, all, LEGACY_REPLAY_BYTES_MAX, 0))
			return;
		replay_drop_oldest(&largest->replay);
	} while (own > 0);
}

void legacy_keep(struct legacy *legacy, const struct replay_id *id, const struct buffer *message)
{
	replay_keep(&legacy->replay, id, message);
	fit_replays(legacy);
}

/* Send the kept events of a stream after `id`; return the id of the last one. */
static struct replay_id send_kept(const struct legacy *legacy, struct connection *connection,
				  struct replay_id id)
{
	const struct replay_event *event;
	struct buffer out = { 0 };

	while ((event = replay_after(&legacy->replay, &id))) {
		id = event->id;
		event_append(&out, &id, event->bytes, event->size);
		connection_stream(connection, out.bytes, out.size);
		out.size = 0;
	}
	buffer_done(&out);
	return id;
}

/* Send the channel's events that its listener has not had yet. */
static void flush_channel(struct legacy *legacy)
{
	const struct replay_id heard = { .number = legacy->heard };

	legacy->heard = send_kept(legacy, legacy->listener, heard).number;
}

static void say_on_channel(struct exchange *channel, const struct buffer *message)
{
	struct legacy *legacy = legacy_of(channel);
	const struct replay_id id = { .number = ++legacy->said };

	legacy_keep(legacy, &id, message);
	if (legacy->listener)
		flush_channel(legacy);
}

static void answer_on_channel(struct exchange *channel, const struct buffer *answer, int code)
{
	bug("an answer to nothing that was asked");
}

static bool is_behind(const struct exchange *channel)
{
	const struct legacy *legacy = (const struct legacy *)channel;

	return legacy->listener && connection_is_behind(legacy->listener);
}

static const struct exchange_kind channel_kind = { say_on_channel, answer_on_channel, NULL,
						   is_behind };

static bool runs_something(const struct legacy *legacy)
{
	const struct executions *executions = legacy->http->host->executions;
	const struct execution_owner owner = session_owner(&legacy->session);
	const struct execution *execution = executions_older(executions, &owner, NULL);

	while (execution && execution_info(execution)->state == EXECUTION_OVER)
		execution = executions_older(executions, &owner, execution);
	return execution;
}

static bool is_idle(const struct legacy *legacy)
{
	return !legacy->posts && !legacy->listener && !runs_something(legacy);
}

/* Return the session that was used earlier. The list begins with the newest: of sessions used in
 * the same millisecond take the last. */
static struct legacy *older_session(struct legacy *a, struct legacy *b)
{
	return !a || b->used_ms <= a->used_ms ? b : a;
}

static size_t count_own(const struct http *http, uint32_t principal)
{
	size_t own = 0;

	for (const struct legacy *legacy = http->sessions; legacy; legacy = legacy->next)
		own += legacy->session.principal == principal;
	return own;
}

/* Make room for one more session of the principal, if need be by ending an idle one of its own. A
 * principal without a session may end any idle one. False: there is no room. */
static bool make_room(struct http *http, uint32_t principal)
{
	const size_t own = count_own(http, principal);
	struct legacy *goes = NULL;

	if (share_allows(principal, own, http->session_count, LEGACY_SESSIONS_MAX, 1))
		return true;
	for (struct legacy *legacy = http->sessions; legacy; legacy = legacy->next) {
		if ((own == 0 || legacy->session.principal == principal) && is_idle(legacy))
			goes = older_session(goes, legacy);
	}
	if (goes)
		legacy_end(goes);
	return goes != NULL;
}

struct legacy *legacy_new(struct http *http, uint32_t principal)
{
	unsigned char random[LEGACY_ID_CHARS / 2];
	struct legacy *legacy;

	if (!make_room(http, principal))
		return NULL;
	legacy = memory_get_zeroed(1, sizeof(*legacy));
	legacy->http = http;
	randombytes_buf(random, sizeof(random));
	(void)sodium_bin2hex(legacy->id, sizeof(legacy->id), random, sizeof(random));
	exchange_init(&legacy->channel, &channel_kind);
	session_init(&legacy->session, http->host, principal, &legacy->channel);
	legacy->session.owns_executions = true;
	legacy->used_ms = clock_steady_ms();
	legacy->next = http->sessions;
	http->sessions = legacy;
	http->session_count++;
	return legacy;
}

static void close_listener(struct legacy *legacy)
{
	struct connection *listener = legacy->listener;

	legacy->listener = NULL;
	if (listener)
		connection_end_stream(listener);
}

void legacy_end(struct legacy *legacy)
{
	CHAIN_REMOVE(legacy->http->sessions, legacy, next);
	legacy->http->session_count--;
	session_done(&legacy->session);
	while (legacy->posts) /* a POST that is still being made */
		post_leave_session(legacy->posts);
	close_listener(legacy);
	replay_done(&legacy->replay);
	free(legacy);
}

struct legacy *legacy_find(const struct inbound *inbound)
{
	const char *id = inbound_header(inbound, SESSION_HEADER);
	struct legacy *legacy = inbound->http->sessions;

	if (!id) {
		inbound_refuse(inbound, 400,
			       SESSION_HEADER " is missing: begin with an initialize request");
		return NULL;
	}
	while (legacy && (strlen(id) != LEGACY_ID_CHARS ||
			  sodium_memcmp(id, legacy->id, LEGACY_ID_CHARS) != 0))
		legacy = legacy->next;
	if (!legacy || legacy->session.principal != inbound->principal) {
		inbound_refuse(inbound, 404, "Unknown or expired session: initialize again");
		return NULL;
	}
	legacy->used_ms = clock_steady_ms();
	return legacy;
}

void legacy_start_stream(const struct legacy *legacy, struct connection *connection,
			 const struct replay_id *id, const char *otherwise)
{
	const char *version = legacy ? legacy->session.version : NULL;
	struct buffer out = { 0 };

	connection_start_stream(connection, HTTP_EVENTS);
	if (version && strcmp(version, "2025-11-25") >= 0) {
		buffer_append_text(&out, RETRY);
		event_append(&out, id, NULL, 0);
	} else {
		buffer_append_text(&out, otherwise);
	}
	if (out.size > 0)
		connection_stream(connection, out.bytes, out.size);
	buffer_done(&out);
}

static void listener_gone(void *owner)
{
	struct legacy *legacy = owner;

	legacy->listener = NULL;
	legacy->used_ms = clock_steady_ms();
}

/* Make `connection` the channel's stream, from the event after `heard` on. */
static void listen_on(struct legacy *legacy, struct connection *connection, uint64_t heard)
{
	const struct replay_id id = { .number = heard };

	close_listener(legacy);
	legacy->listener = connection;
	legacy->heard = heard;
	connection_set_owner(connection, listener_gone, legacy);
	legacy_start_stream(legacy, connection, &id, ": open\n\n");
	flush_channel(legacy);
}

/* Send the rest of an answer's stream: its kept events, then new ones. */
static void resume_stream(struct legacy *legacy, struct connection *connection, struct replay_id id)
{
	struct post *post = legacy->posts;

	while (post && post->stream != id.stream)
		post = post->next;
	connection_start_stream(connection, HTTP_EVENTS);
	(void)send_kept(legacy, connection, id);
	if (post)
		post_attach(post, connection);
	else
		connection_end_stream(connection);
}

/* Refuse a request that cannot belong to this session. True: it may go on. */
static bool check_version(const struct inbound *inbound)
{
	const char *version = inbound_header(inbound, "MCP-Protocol-Version");

	if (!version || era_knows_legacy(version))
		return true;
	if (era_knows_modern(version)) {
		connection_add_header(inbound->connection, "Allow", "POST");
		inbound_refuse(inbound, 405, "This protocol version allows only POST");
	} else {
		inbound_refuse(inbound, 400, "Unsupported MCP-Protocol-Version");
	}
	return false;
}

void legacy_get(const struct inbound *inbound)
{
	const char *last = inbound_header(inbound, "Last-Event-ID");
	struct legacy *legacy = check_version(inbound) ? legacy_find(inbound) : NULL;
	struct replay_id id = { 0 };

	if (!legacy)
		return;
	if (last && (!replay_read_id(last, &id) || id.stream > legacy->last_stream ||
		     (id.stream == 0 && id.number > legacy->said)))
		inbound_refuse(inbound, 400, "Last-Event-ID is not from this session");
	else if (id.stream > 0)
		resume_stream(legacy, inbound->connection, id);
	else if (!last && legacy->listener)
		inbound_refuse(inbound, 409, "This session's stream is open already");
	else
		listen_on(legacy, inbound->connection, last ? id.number : legacy->heard);
}

void legacy_delete(const struct inbound *inbound)
{
	struct legacy *legacy = check_version(inbound) ? legacy_find(inbound) : NULL;

	if (!legacy)
		return;
	legacy_end(legacy);
	connection_reply(inbound->connection, 204, NULL, NULL);
}

void legacy_sweep(struct http *http)
{
	const int64_t now = clock_steady_ms();
	struct legacy *next;

	for (struct legacy *legacy = http->sessions; legacy; legacy = next) {
		next = legacy->next;
		if (!tokens_admit(&http->tokens, legacy->session.principal) ||
		    (now - legacy->used_ms > IDLE_MS && is_idle(legacy)))
			legacy_end(legacy);
	}
}
