/* SPDX-License-Identifier: Apache-2.0 */
#include "stdio_server.h"

#include <stdlib.h>

#include "io/client.h"
#include "lib/heap/memory.h"
#include "mcp/methods.h"

struct stdio {
	struct exchange exchange; /* first; the exchange of every message of the client */
	void (*ended)(void *context);
	void *context;
	struct client *client;
	struct session session;
};

static void on_line(void *context, char *line, size_t size)
{
	struct stdio *stdio = context;

	methods_take_text(&stdio->session, &stdio->exchange, line, size);
}

static void on_long_line(void *context)
{
	struct stdio *stdio = context;

	methods_refuse_long(&stdio->exchange);
}

static void on_end(void *context)
{
	struct stdio *stdio = context;

	stdio->ended(stdio->context);
}

static const struct client_handlers client_handlers = {
	.on_line = on_line,
	.on_long_line = on_long_line,
	.on_end = on_end,
};

static struct stdio *stdio_of(struct exchange *exchange)
{
	return (struct stdio *)exchange;
}

static void say_message(struct exchange *exchange, const struct buffer *line)
{
	client_send(stdio_of(exchange)->client, line);
}

static void answer_message(struct exchange *exchange, const struct buffer *line, int code)
{
	client_send(stdio_of(exchange)->client, line);
}

static bool is_behind(const struct exchange *exchange)
{
	return client_is_behind(((const struct stdio *)exchange)->client);
}

static const struct exchange_kind stdio_kind = { say_message, answer_message, NULL, is_behind };

struct stdio *stdio_new(struct host *host, int in, int out, void (*ended)(void *context),
			void *context)
{
	struct stdio *stdio = memory_get_zeroed(1, sizeof(*stdio));

	stdio->ended = ended;
	stdio->context = context;
	exchange_init(&stdio->exchange, &stdio_kind);
	session_init(&stdio->session, host, 0, &stdio->exchange);
	stdio->client = client_new(host->base, in, out, &client_handlers, stdio);
	return stdio;
}

void stdio_open(struct stdio *stdio)
{
	client_open(stdio->client);
}

struct stdio *stdio_free(struct stdio *stdio)
{
	if (!stdio)
		return NULL;
	session_done(&stdio->session);
	stdio->client = client_free(stdio->client);
	free(stdio);
	return NULL;
}
