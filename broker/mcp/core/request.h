/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's request while its method reads it, and immediate answers. A later answer needs a call
 * (call.h).
 */
#ifndef BROKER_MCP_CORE_REQUEST_H
#define BROKER_MCP_CORE_REQUEST_H

#include "frontend/json_write.h"
#include "lib/json/read.h"
#include "mcp/core/message.h"
#include "mcp/core/session.h"

/* Bits of a set. */
enum ability {
	ABILITY_ELICITATION = 1, /* ask the user with a form */
	ABILITY_SAMPLING = 2,    /* ask the client's model */
	ABILITY_ROOTS = 4,
	ABILITY_TASKS = 8, /* the extension: poll for the result of a call */
};

#define TASKS_EXTENSION "io.modelcontextprotocol/tasks"

/* Return the set that a capabilities object (NULL: none) declares. */
unsigned int ability_read(const struct json_document *document,
			  const struct json_value *capabilities);

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

/* Answer with an error whose text was made elsewhere; `data` is JSON or NULL. Takes both. */
void request_refuse_with(const struct request *request, enum rpc_code code, struct buffer *text,
			 struct buffer *data);

/* An answer that is being written: the result's members go into `writer` between open and close. In
 * the modern era a cacheable result carries its lifetime. */
struct answer {
	struct buffer line;
	struct json_writer writer;
	bool has_meta;
};

void answer_begin(struct answer *answer, const struct rpc_id *id, enum era era, const char *type);
void answer_send(struct answer *answer, struct exchange *exchange, enum era era);
void request_open_result(const struct request *request, struct answer *answer);
void answer_put_caching(struct answer *answer, enum era era, uint32_t ttl_ms);
void request_close_result(const struct request *request, struct answer *answer);

/* Answer with an empty result. */
void request_answer_empty(const struct request *request);

/* Describe the abilities that a client lacks: as a text, and as data of the error. */
void ability_put_missing(unsigned int missing, struct buffer *text, struct buffer *data);

/* Refuse a request for them. */
void request_refuse_abilities(const struct request *request, unsigned int missing);

/* --- pages of a list ------------------------------------------------------------------------ */

#define PAGE_ENTRIES 100U

/* A walk through the entries of a list, to count them or to write some. */
struct page {
	struct json_writer *writer;
	size_t first, end; /* the entries to write */
	size_t count;      /* the entries so far */
};

/* Count the next entry. True: write it. */
bool page_takes(struct page *page);

/* Answer a list with the page that the request's cursor names: `list` walks through its entries.
 * The answer may be cached for so long. */
void page_answer(const struct request *request, const char *member, uint32_t ttl_ms,
		 void (*list)(struct page *page, const struct session *session));

#endif
