/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's request while its method looks at it, and the answers that are given at once. What is
 * answered later becomes a call (call.h).
 */
#ifndef BROKER_MCP_REQUEST_H
#define BROKER_MCP_REQUEST_H

#include "mcp/message.h"
#include "mcp/session.h"

/* For how long an answer that does not change may be cached, in milliseconds: it holds as long as
 * the process, but a client that keeps it over a restart with another configuration shall not do so
 * for long. */
#define ANSWER_TTL_MS 300000U

/* Of what a client sent, this much is quoted in a message. */
#define QUOTE_BYTES 100

struct request {
	struct session *session;
	struct exchange *exchange;
	const struct json_document *document;
	struct message *message;
	enum era era;
	bool is_batched;
};

/* The parameter `name`; NULL: absent or null. */
struct json_value *request_param(const struct request *request, const char *name);

/* A string parameter, decoded. NULL: the request has been refused with what is wrong. */
struct json_value *request_string(const struct request *request, const char *name);

/* An optional object parameter in *ret, NULL when absent. False: the request has been refused. */
bool request_object(const struct request *request, const char *name, struct json_value **ret);

/* What the client can do for us (a set of enum ability). */
unsigned int request_abilities(const struct request *request);

/* Answer with an error: `text`, or "text: value" with the value quoted. */
void request_refuse(const struct request *request, enum rpc_code code, const char *text,
		    const struct json_value *value);

/* The same with a text made elsewhere; `data` is JSON or NULL. */
void request_refuse_with(const struct request *request, enum rpc_code code,
			 const struct buffer *text, const struct buffer *data);

/* An answer that is being written: between open and close, the result's members go into `writer`.
 * A result that may be cached says for how long, in the era that knows it. */
struct answer {
	struct buffer line;
	struct json_writer writer;
	bool has_meta;
};

void request_open_result(const struct request *request, struct answer *answer);
void request_put_caching(const struct request *request, struct answer *answer);
void answer_put_caching(struct answer *answer, enum era era, uint32_t ttl_ms);
void request_close_result(const struct request *request, struct answer *answer);

/* Answer with a result that has nothing to say. */
void request_answer_empty(const struct request *request);

#endif
