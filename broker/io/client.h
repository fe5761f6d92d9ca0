/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's two descriptors: lines in, lines out, and the pressure back when it does not read.
 *
 * The descriptors are inherited and may be shared with other processes, so their flags stay as
 * they are: nothing is read or written before the kernel said that it will not block, and writes
 * are no longer than a pipe always takes at once.
 */
#ifndef BROKER_IO_CLIENT_H
#define BROKER_IO_CLIENT_H

#include <event2/event.h>
#include <stdbool.h>

#include "io/buffer.h"

struct client;

struct client_handlers {
	/* A line, which may be written to, valid during the call. */
	void (*on_line)(void *context, char *line, size_t size);
	/* A line beyond LINE_BYTES_MAX was thrown away. */
	void (*on_long_line)(void *context);
	/* The client is gone, and what could still be written has been. Called once, last. */
	void (*on_end)(void *context);
};

/* Nothing is read before client_open(). */
struct client *client_new(struct event_base *base, int in, int out,
			  const struct client_handlers *handlers, void *context);

/* Returns NULL. The descriptors stay open. */
struct client *client_free(struct client *client);

void client_open(struct client *client);

/* Queue a line and write what can be written. While much is queued, nothing more is read. */
void client_send(struct client *client, const struct buffer *line);

/* Is much queued? */
bool client_is_behind(const struct client *client);

#endif
