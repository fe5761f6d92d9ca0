/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker without its confinement: a client's descriptors or the listener of an HTTP server on
 * one side, the supervisor's channel on the other, sessions between them.
 */
#ifndef BROKER_SERVER_H
#define BROKER_SERVER_H

#include <event2/event.h>
#include <stdbool.h>

struct server;

/* Make an event loop that opens no descriptor later; NULL when the system has no room. */
struct event_base *server_base_new(void);

/* Make a server and send hello on `channel`; the client is read after the supervisor's welcome. The
 * descriptors and the base stay the caller's. */
struct server *server_new(struct event_base *base, int in, int out, int channel);

/* Make a server for the clients of a listening socket, whose tokens are in a file: see http/http.h.
 * NULL: these descriptors cannot be served, and stderr says why. */
struct server *server_new_http(struct event_base *base, int listener, int tokens, int channel);

/* Free it. Returns NULL. */
struct server *server_free(struct server *server);

/* Serve until the one client or the supervisor is gone; return the exit code of the process. */
int server_run(struct server *server);

/* Return true when the server is over, for tests that turn the loop themselves. */
bool server_is_over(const struct server *server);

#endif
