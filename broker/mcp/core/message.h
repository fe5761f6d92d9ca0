/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON-RPC: the kind of message that a JSON value is, and the frames of answers.
 */
#ifndef BROKER_MCP_CORE_MESSAGE_H
#define BROKER_MCP_CORE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "frontend/json_write.h"
#include "lib/json/read.h"
#include "mcp/core/era.h"

/* Bounded, because it is echoed and kept for every request in flight. */
#define RPC_ID_BYTES_MAX 65536U

/* An all-zero struct is "no id". */
struct rpc_id {
	struct buffer raw;     /* as it came, quotes included */
	struct buffer meaning; /* a type letter, then the decoded string or the integer's decimal
				  digits */
};

/* Read an id: a string that is not decoded yet, or an integer in the range of every JSON
 * implementation. The value stays unchanged. False: another value, and nothing is set. The caller
 * frees the id with rpc_id_done(). */
bool rpc_id_read(const struct json_value *value, struct rpc_id *ret);

bool rpc_id_equals(const struct rpc_id *left, const struct rpc_id *right);

void rpc_id_done(struct rpc_id *id);

/* Codes of JSON-RPC, and of MCP 2026-07-28. */
enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_RESOURCE_NOT_FOUND = -32002, /* only in the legacy era */
	RPC_HEADER_MISMATCH = -32020,
	RPC_CAPABILITY_MISSING = -32021,
	RPC_UNSUPPORTED_VERSION = -32022,
};

enum message_kind {
	MESSAGE_REQUEST,
	MESSAGE_NOTIFICATION,
	MESSAGE_RESPONSE, /* answers a request of ours, or an unknown one */
	MESSAGE_IGNORED,  /* an invalid notification */
	MESSAGE_INVALID,  /* answer with `code` and `problem` */
};

struct message {
	enum message_kind kind;
	struct rpc_id id; /* without `raw` bytes there is no id */
	struct json_value *method;
	struct json_value *params; /* an object or NULL */
	struct json_value *meta;   /* params._meta, an object or NULL */
	enum rpc_code code;
	const char *problem;
};

/* Read `value`; the caller frees the message with message_done(). */
void message_read(const struct json_document *document, struct json_value *value,
		  struct message *ret);
void message_done(struct message *message);

/* Open and close the frame of an answer, or of a notification of ours. The modern era names the
 * type of each result. The result's members, or the notification's params, are written between open
 * and close; a result's _meta is an object with the era's members. */
void message_open_result(struct json_writer *writer, const struct rpc_id *id, enum era era,
			 const char *type);
void message_open_meta(struct json_writer *writer, enum era era);
void message_open_notification(struct json_writer *writer, const char *method);
void message_close(struct json_writer *writer);

/* Write the member of a _meta that names the subscriptions/listen of a message. */
void message_put_subscription(struct json_writer *writer, const struct rpc_id *id);

/* Write a whole request of ours; `params` is JSON or NULL. */
void message_put_request(struct json_writer *writer, const char *id, const char *method,
			 const struct buffer *params);

/* Write a whole error answer; `data` is JSON or NULL. An id without `raw`, or NULL, is written as
 * null. */
void message_put_error(struct buffer *line, const struct rpc_id *id, enum rpc_code code,
		       const char *text, const struct buffer *data);

/* --- levels of a client's log --------------------------------------------------------------- */

enum log_level {
	LOG_LEVEL_DEBUG,
	LOG_LEVEL_INFO,
	LOG_LEVEL_NOTICE,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_ERROR,
	LOG_LEVEL_CRITICAL,
	LOG_LEVEL_ALERT,
	LOG_LEVEL_EMERGENCY,
	LOG_LEVEL_NONE, /* as a threshold: no message passes */
};

/* Read the level that a string names. False: none. */
bool log_level_read(struct json_value *value, enum log_level *ret);

const char *log_level_name(enum log_level level);

#endif
