/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's request while its method reads it, and immediate answers. A later answer needs a call
 * (call.h).
 */
#ifndef BROKER_MCP_CORE_REQUEST_H
#define BROKER_MCP_CORE_REQUEST_H

#include "mcp/core/message.h"
#include "mcp/core/session.h"

/* Milliseconds for which an unchanging answer may be cached: it holds for the life of the process,
 * but a client must not keep it for long over a restart with another configuration. */
#define ANSWER_TTL_MS 300000U

/* Bytes of a client's text that a message quotes. */
#define QUOTE_BYTES 100

struct request {
	struct session *session;
	struct exchange *exchange;
	const struct json_document *document;
	struct message *message;
	enum era era;
	bool is_batched;
};

/* Return the parameter `name`; NULL: absent or null. */
struct json_value *request_param(const struct request *request, const char *name);

/* Return a string parameter, decoded. NULL: the request has been refused with the problem. */
struct json_value *request_string(const struct request *request, const char *name);

/* Read an optional object parameter into *ret, NULL when absent. False: the request has been
 * refused. */
bool request_object(const struct request *request, const char *name, struct json_value **ret);

/* Return the client's abilities (a set of enum ability). */
unsigned int request_abilities(const struct request *request);

/* Answer with an error: `text`, or "text: value" with the value quoted. */
void request_refuse(const struct request *request, enum rpc_code code, const char *text,
		    const struct json_value *value);

/* Answer with an error whose text was made elsewhere; `data` is JSON or NULL. */
void request_refuse_with(const struct request *request, enum rpc_code code,
			 const struct buffer *text, const struct buffer *data);

/* An answer that is being written: the result's members go into `writer` between open and close. In
 * the modern era a cacheable result carries its lifetime. */
struct answer {
	struct buffer line;
	struct json_writer writer;
	bool has_meta;
};

void request_open_result(const struct request *request, struct answer *answer);
void request_put_caching(const struct request *request, struct answer *answer);
void answer_put_caching(struct answer *answer, enum era era, uint32_t ttl_ms);
void request_close_result(const struct request *request, struct answer *answer);

/* Answer with an empty result. */
void request_answer_empty(const struct request *request);

#endif
