/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON-RPC: what kind of message a JSON value is, and the frames of answers.
 */
#ifndef BROKER_MCP_MESSAGE_H
#define BROKER_MCP_MESSAGE_H

#include "mcp/era.h"
#include "mcp/id.h"
#include "json/read.h"
#include "json/write.h"

/* JSON-RPC's codes, and those of MCP 2026-07-28. */
enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_RESOURCE_NOT_FOUND = -32002, /* of the legacy era only */
	RPC_HEADER_MISMATCH = -32020,
	RPC_CAPABILITY_MISSING = -32021,
	RPC_UNSUPPORTED_VERSION = -32022,
};

enum message_kind {
	MESSAGE_REQUEST,
	MESSAGE_NOTIFICATION,
	MESSAGE_RESPONSE, /* to a request of ours, or to none */
	MESSAGE_IGNORED,  /* a notification that makes no sense */
	MESSAGE_INVALID,  /* answer with `code` and `problem` */
};

struct message {
	enum message_kind kind;
	struct rpc_id id; /* none when `raw` is NULL */
	struct json_value *method;
	struct json_value *params; /* an object or NULL */
	struct json_value *meta;   /* params._meta, an object or NULL */
	enum rpc_code code;
	const char *problem;
};

/* Read `value`; give the message to message_done(). */
void message_read(const struct json_document *document, struct json_value *value,
		  struct message *ret);
void message_done(struct message *message);

/*
 * Frames of answers. The modern era says of each result of what type it is. Between open and close
 * of a result its members are written; its _meta holds what the era asks for, and what is written
 * between open and close of the meta.
 */
void message_open_result(struct json_writer *writer, const struct rpc_id *id, enum era era);
void message_open_typed_result(struct json_writer *writer, const struct rpc_id *id, enum era era,
			       const char *type);
void message_open_meta(struct json_writer *writer, enum era era);
void message_close_meta(struct json_writer *writer);
void message_close_result(struct json_writer *writer);

/* The member of a _meta that says to which subscriptions/listen a message belongs. */
void message_put_subscription(struct json_writer *writer, const struct rpc_id *id);

/* A request of ours, whole; `params` is JSON or NULL. */
void message_put_request(struct json_writer *writer, const char *id, const char *method,
			 const struct buffer *params);

/* A notification of ours; between open and close its params are written. */
void message_open_notification(struct json_writer *writer, const char *method);
void message_close_notification(struct json_writer *writer);

/* A whole error answer; `data` is JSON or NULL. An id without `raw`, or NULL, is written as null.
 */
void message_put_error(struct json_writer *writer, const struct rpc_id *id, enum rpc_code code,
		       const struct buffer *text, const struct buffer *data);

#endif
