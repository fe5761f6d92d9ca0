/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations that only the files of the connections share: connection.c (their life with evhttp,
 * and answers), connection_intake.c (arriving bytes, before evhttp reads them), connection_room.c
 * (limits on connections and on time).
 */
#ifndef BROKER_HTTP_CONNECTION_PARTS_H
#define BROKER_HTTP_CONNECTION_PARTS_H

#include "http/connection.h"
#include "http/head.h"

enum phase {
	PHASE_NEW,       /* accepted, not looked at yet */
	PHASE_READING,   /* between requests or within one */
	PHASE_PENDING,   /* we are handling a request */
	PHASE_STREAMING, /* its answer has begun */
	PHASE_FLUSHING,  /* its answer is complete, but not sent */
	PHASE_REFUSED,   /* taken over: its input is thrown away */
};

/* The part of a request that arrives next. */
enum intake {
	INTAKE_HEAD,
	INTAKE_BODY,       /* a body of a known length */
	INTAKE_CHUNK_LINE, /* the size before a chunk */
	INTAKE_CHUNK,
	INTAKE_CHUNK_END, /* CR LF after a chunk */
	INTAKE_LAST_END,  /* CR LF after the last chunk, which is empty */
	INTAKE_WHOLE,     /* the request is complete; the next one waits for its answer */
};

struct connection {
	struct connection *next; /* accepted before it */
	struct connections *connections;
	struct bufferevent *bufferevent;
	struct evhttp_connection *evcon;
	struct evhttp_request *request; /* pending or streaming */
	enum phase phase;
	bool is_doomed;
	enum intake intake;
	bool is_passing;    /* we are adding to evhttp's input */
	struct buffer held; /* bytes that have arrived and that evhttp may not read yet */
	size_t seen;        /* bytes of an incomplete head that were checked */
	size_t left;        /* bytes of the body or chunk that have not arrived */
	size_t body;        /* announced bytes of the body so far */
	size_t taken;       /* bytes of the request so far */
	int64_t since_ms;   /* when the phase began; for a request, the time of its first byte */
	int64_t unknown_ms; /* since when its client has been unknown */
	int64_t said_ms;    /* when bytes were sent last */
	int64_t moved_ms; /* when the bytes that wait to be sent last became fewer, or were zero */
	size_t queued;    /* bytes that waited at the last look */
	bool is_known;    /* the head of its newest request identified the client */
	uint32_t principal; /* principal of the newest request, if is_known */
	void (*gone)(void *owner);
	void *owner;
};

/* --- connection.c --- */

size_t connection_queued(const struct connection *connection);

/* Have new, doomed and continued connections looked at in the next round of the loop. */
void connections_look_soon(struct connections *connections);

/* Take the connection over from evhttp, which has not answered this request: answer it with the
 * fault, then end it. */
void connection_refuse(struct connection *connection, const struct fault *fault);

/* --- connection_intake.c --- */

/* Take each piece that arrives, before evhttp reads it; `argument` is the connection. */
void connection_on_input(struct evbuffer *input, const struct evbuffer_cb_info *info,
			 void *argument);

/* Go on with the held bytes once the answer to the last request is sent. True: evhttp was given
 * some of them and has to read them. */
bool connection_continue(struct connection *connection);

/* --- connection_room.c --- */

/* Doom unknown connections beyond their number, the oldest first, after one was accepted. */
void room_for_unknown(struct connections *connections);

/* Free a descriptor, as none is left: doom the least needed connection. */
void room_for_descriptor(struct connections *connections);

/* Check whether the client, identified now, may have one more connection; its idle ones make room.
 * NULL: it may. */
const struct fault *room_for_known(const struct connection *connection);

/* Check whether the bytes of its request that have arrived may be kept. NULL: they may. */
const struct fault *room_for_bytes(const struct connection *connection);

/* Return true if the bytes that wait to be sent exceed the principal's share. */
bool room_is_exceeded(const struct connection *connection);

#endif
