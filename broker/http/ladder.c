/* SPDX-License-Identifier: Apache-2.0 */
#include "http/ladder.h"

#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <string.h>
#include <strings.h>

#include "http/headers.h"
#include "mcp/core/message.h"

#define REALM "Bearer realm=\"msp\""

struct rejection {
	int status; /* 0: none */
	const char *text;
	const char *header; /* a header for the answer */
	const char *value;
};

static const struct rejection passed = { 0 };

const char *inbound_header(const struct inbound *inbound, const char *name)
{
	return evhttp_find_header(inbound->headers, name);
}

static struct rejection make_rejection(int status, const char *text)
{
	return (struct rejection){ .status = status, .text = text };
}

static void answer_rejection(const struct inbound *inbound, const struct rejection *why)
{
	struct buffer body = { 0 };

	message_put_error(&body, NULL, RPC_INVALID_REQUEST, why->text, NULL);
	if (why->header)
		connection_add_header(inbound->connection, why->header, why->value);
	connection_reply(inbound->connection, why->status, HTTP_JSON, &body);
	buffer_done(&body);
}

void inbound_refuse(const struct inbound *inbound, int status, const char *text)
{
	const struct rejection one = make_rejection(status, text);

	answer_rejection(inbound, &one);
}

/* A web page can make a browser send requests here, and can have a name of its own resolved to this
 * machine's address; but the browser then names the page in Host or Origin. */
static struct rejection check_names(struct inbound *inbound)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(inbound->request);
	const char *target = uri ? evhttp_uri_get_host(uri) : NULL;
	const char *host = inbound_header(inbound, "Host");
	const char *origin = inbound_header(inbound, "Origin");
	const bool is_local =
		host ? header_host_is_local(host) : inbound->http->connections.is_unix;

	if (is_local && (!target || header_host_is_local(target)) &&
	    (!origin || header_origin_is_local(origin)))
		return passed;
	trouble_note(&inbound->http->connections.troubles, TROUBLE_HOST);
	return make_rejection(403, "Host and Origin must be localhost, 127.0.0.1 or [::1]");
}

static struct rejection check_token(struct inbound *inbound)
{
	static const struct rejection missing = { 401,
						  "A token is needed: Authorization: Bearer ...",
						  "WWW-Authenticate", REALM };
	static const struct rejection wrong = { 401, "The token is unknown or was revoked",
						"WWW-Authenticate",
						REALM ", error=\"invalid_token\"" };
	struct http *http = inbound->http;
	const char *value = inbound_header(inbound, "Authorization");

	tokens_refresh(
		&http->tokens); /* the token may have been revoked while the body was arriving */
	inbound->principal = connection_principal(inbound->connection);
	if (connection_is_known(inbound->connection) &&
	    tokens_admit(&http->tokens, inbound->principal))
		return passed;
	trouble_note(&http->connections.troubles, TROUBLE_TOKEN);
	return value && header_bearer(value) ? wrong : missing;
}

static struct rejection check_path(struct inbound *inbound)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(inbound->request);
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL;

	if (path && strcmp(path, HTTP_PATH) == 0)
		return passed;
	return make_rejection(404, "Not found; the endpoint is " HTTP_PATH);
}

static struct rejection check_method(struct inbound *inbound)
{
	static const struct rejection other = { 405, "The endpoint takes POST, GET and DELETE",
						"Allow", "POST, GET, DELETE" };

	switch (inbound->method) {
	case EVHTTP_REQ_POST:
	case EVHTTP_REQ_GET:
	case EVHTTP_REQ_DELETE:
		return passed;
	default:
		return other;
	}
}

static struct rejection check_type(struct inbound *inbound)
{
	const char *type = inbound_header(inbound, "Content-Type");

	if (inbound->method != EVHTTP_REQ_POST || (type && header_is_json(type)))
		return passed;
	return make_rejection(415, "Content-Type must be " HTTP_JSON);
}

static bool accepts_type(const struct inbound *inbound, const char *type, const char *subtype)
{
	const struct evkeyval *header;

	for (header = inbound->headers->tqh_first; header; header = header->next.tqe_next) {
		if (strcasecmp(header->key, "Accept") == 0 &&
		    header_accepts(header->value, type, subtype))
			return true;
	}
	return false;
}

static struct rejection check_accept(struct inbound *inbound)
{
	const bool events = accepts_type(inbound, "text", "event-stream");

	if (inbound->method == EVHTTP_REQ_POST &&
	    !(events && accepts_type(inbound, "application", "json")))
		return make_rejection(406, "Accept must name " HTTP_JSON " and " HTTP_EVENTS);
	if (inbound->method == EVHTTP_REQ_GET && !events)
		return make_rejection(406, "Accept must name " HTTP_EVENTS);
	return passed;
}

static struct rejection (*const checks[])(struct inbound *inbound) = {
	check_names, check_token, check_path, check_method, check_type, check_accept,
};

bool ladder_pass(struct inbound *inbound)
{
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		const struct rejection found = checks[i](inbound);

		if (found.status) {
			answer_rejection(inbound, &found);
			return false;
		}
	}
	return true;
}
