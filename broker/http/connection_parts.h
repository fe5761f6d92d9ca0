/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the connections share: connection.c (their life with evhttp, and answers),
 * connection_intake.c (what arrives, before evhttp sees it), connection_room.c (which connections
 * may stay, and for how long). Nobody else includes this.
 */
#ifndef BROKER_HTTP_CONNECTION_PARTS_H
#define BROKER_HTTP_CONNECTION_PARTS_H

#include "http/connection.h"
#include "http/head.h"

enum phase {
	PHASE_NEW,       /* accepted, not looked at yet */
	PHASE_READING,   /* between requests or within one */
	PHASE_PENDING,   /* a request is in our hands */
	PHASE_STREAMING, /* its answer has begun */
	PHASE_FLUSHING,  /* its answer is complete, but not sent */
	PHASE_REFUSED,   /* taken over: what comes is thrown away */
};

/* Which part of a request arrives next. */
enum intake {
	INTAKE_HEAD,
	INTAKE_BODY,       /* of a known length */
	INTAKE_CHUNK_LINE, /* the size before a chunk */
	INTAKE_CHUNK,
	INTAKE_CHUNK_END, /* CR LF after a chunk */
	INTAKE_LAST_END,  /* the same after the last one, which is empty */
	INTAKE_WHOLE,     /* nothing: the next request waits for the answer to this one */
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
	bool is_passing;    /* what is added to evhttp's input comes from here */
	struct buffer held; /* has arrived, and evhttp may not see it yet */
	size_t seen;        /* bytes of an incomplete head that were looked at */
	size_t left;        /* bytes of the body or chunk that have not arrived */
	size_t body;        /* announced bytes of the body so far */
	size_t taken;       /* bytes of the request so far */
	int64_t since_ms;   /* when the phase began; of a request, its first byte */
	int64_t unknown_ms; /* since when its client is not known */
	int64_t said_ms;    /* when anything was sent last */
	int64_t moved_ms;   /* when what waits to be sent became less, or nothing did */
	size_t queued;      /* bytes that waited at the last look */
	bool is_known;      /* the head of its newest request proved who its client is */
	uint32_t principal; /* then */
	void (*gone)(void *owner);
	void *owner;
};

/* --- connection.c --- */

size_t connection_queued(const struct connection *connection);

/* Have new, doomed and continued connections looked at soon. */
void connections_look_soon(struct connections *connections);

void connection_forget_taken(struct connection *connection);

/* Take the connection over from evhttp, which has not answered this request and never will: it is
 * answered with the fault, and ends. */
void connection_refuse(struct connection *connection, const struct fault *fault);

/* --- connection_intake.c --- */

/* Called for each piece that arrives, before evhttp sees it; `argument` is the connection. */
void connection_on_input(struct evbuffer *input, const struct evbuffer_cb_info *info,
			 void *argument);

/* The answer to the last request is sent: go on with what was held. True: some of it was passed to
 * evhttp, which is to look at it. */
bool connection_continue(struct connection *connection);

/* --- connection_room.c --- */

/* A connection was accepted: unknown ones beyond their number are doomed, the oldest first. */
void room_for_unknown(struct connections *connections);

/* No descriptor is left: doom the connection that is missed least. */
void room_for_descriptor(struct connections *connections);

/* The client of this connection is known now: may it have one more? Its idle ones make room. NULL:
 * it may. */
const struct fault *room_for_known(const struct connection *connection);

/* Bytes of its request have arrived, and are counted. NULL: they may be kept. */
const struct fault *room_for_bytes(const struct connection *connection);

/* Bytes that wait to be sent have become more: is that too much of its principal's? */
bool room_is_exceeded(const struct connection *connection);

#endif
