/* SPDX-License-Identifier: Apache-2.0
 *
 * One connection: requests of a workload, each judged before the host hears of it, and their
 * answers. The memory of a connection is bounded, and a side that does not read stops the other
 * one.
 */
#ifndef GATEWAY_HTTP_EXCHANGE_H
#define GATEWAY_HTTP_EXCHANGE_H

#include "gateway/http/body.h"
#include "gateway/http/form.h"
#include "gateway/http/message.h"
#include "gateway/http/redact.h"
#include "gateway/http/side.h"
#include "gateway/http/target.h"
#include "lib/heap/buffer.h"

#define EXCHANGE_HELLO_MS 10000U   /* for a workload's handshake, as msp-egress has it */
#define EXCHANGE_HOST_MS 15000U    /* for a host's */
#define EXCHANGE_HEAD_MS 30000U    /* for a request's head, from its first byte on */
#define EXCHANGE_IDLE_MS 300000U   /* between two requests */
#define EXCHANGE_STALL_MS 3600000U /* without a byte within one: a model may think for long */
#define EXCHANGE_FLUSH_MS 30000U   /* for the last bytes */
#define EXCHANGE_LINGER_MS 2000U   /* until a workload has closed its direction */

/* Bytes that have come and are not taken. */
struct inflow {
	size_t start, end;
	char bytes[HEAD_BYTES_MAX];
};

enum exchange_request {
	EXCHANGE_REQUEST_HEAD = 0,
	EXCHANGE_REQUEST_BODY,
	EXCHANGE_REQUEST_SENT,
};

enum exchange_answer {
	EXCHANGE_ANSWER_NONE = 0, /* no request is under way */
	EXCHANGE_ANSWER_HEAD,
	EXCHANGE_ANSWER_BODY,
};

enum exchange_end {
	EXCHANGE_GOES_ON = 0,
	EXCHANGE_FINISHING, /* the workload gets the rest; no side is read */
	EXCHANGE_ENDED,
};

struct exchange {
	struct target target;
	struct side client, host;
	enum exchange_end end;
	enum connection_end reason;
	bool is_cut;              /* the workload is to see a reset */
	bool is_partial;          /* the workload is to see no end */
	bool has_moved, is_ready; /* in this turn; there may be more without an event */
	enum exchange_request request;
	enum exchange_answer answer;
	bool is_of_head, is_last, redacts;
	bool is_answer_chunked, is_request_chunked;
	size_t request_at, answer_at; /* how far a head was looked for */
	struct body request_body, answer_body;
	struct form form; /* the reader of the request's body */
	uint64_t now_ms, begun_ms, moved_ms;
	uint64_t head_ms, finish_ms; /* 0: no byte of a head, or no end, has come */
	uint64_t idle_ms;            /* the profile's limit; 0: none */
	uint64_t most;               /* bytes to both sides; as many hold it until there are more */
	const char *host_trouble;    /* with the handshake; NULL: none */
	struct buffer to_host, to_client;
	struct redact redact;
	struct inflow from_client, from_host;
};

/* Begin with a target and two connected sockets that do not block, which are the exchange's. False:
 * there is no memory for TLS; the exchange has ended. */
bool exchange_begin(struct exchange *exchange, const struct target *target, int client, int host,
		    uint64_t now_ms);

/* Do what can be done now. `is_ready` says whether it has to be called again without an event. */
void exchange_turn(struct exchange *exchange, uint64_t now_ms);

/* Return whether the exchange has moved as many bytes as it may now. */
bool exchange_is_held(const struct exchange *exchange);

/* Set the events that are waited for, as in poll(2). */
void exchange_wants(const struct exchange *exchange, short *ret_client, short *ret_host);

/* End what is late: to be called each second. */
void exchange_tick(struct exchange *exchange, uint64_t now_ms);

/* Close both sockets, and clean the memory. */
void exchange_end(struct exchange *exchange);

/* A request or the workload's hello is refused, of which it has not heard yet. For the exchange's
 * user to define. */
void event_exchange_refused(struct exchange *exchange, enum connection_refused reason);

#endif
