/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's two descriptors: lines in, lines out, and no reading while it does not read.
 *
 * The descriptors are inherited and may be shared with other processes, so their flags stay
 * unchanged: every read and write waits for readiness, and a write is no longer than a pipe takes
 * at once.
 */
#ifndef BROKER_IO_CLIENT_H
#define BROKER_IO_CLIENT_H

#include <event2/event.h>
#include <stdbool.h>

#include "lib/heap/buffer.h"

struct client;

struct client_handlers {
	/* A line was read. It may be written to, and is valid during the call. */
	void (*on_line)(void *context, char *line, size_t size);
	/* A line beyond LINE_BYTES_MAX was thrown away. */
	void (*on_long_line)(void *context);
	/* The client is gone, and its queue was written as far as possible. Called once, last. */
	void (*on_end)(void *context);
};

/* Make a client. Reading begins with client_open(). */
struct client *client_new(struct event_base *base, int in, int out,
			  const struct client_handlers *handlers, void *context);

/* Free it; the descriptors stay open. Returns NULL. */
struct client *client_free(struct client *client);

void client_open(struct client *client);

/* Queue a line and write as much as the descriptor takes. While much is queued, reading stops. */
void client_send(struct client *client, const struct buffer *line);

/* Return true while much is queued. */
bool client_is_behind(const struct client *client);

#endif
