/* SPDX-License-Identifier: Apache-2.0
 *
 * Frontends: the peers that ask for executions. `msp run` and a broker of `msp serve` are the only
 * frontend of their supervisor, which ends with them. The service has many: the end of one ends
 * only its own executions and jobs.
 */
#ifndef SUPERVISOR_FRONT_FRONTEND_H
#define SUPERVISOR_FRONT_FRONTEND_H

#include "base/state.h"
#include "common/ipc/end_reason.h"

/* Starts that may wait for the factory before frontends must: far fewer than its channel holds. */
#define STARTS_MAX 64

/* The channel's messages; `frontend` is the context of each handler (handlers.c). */
typedef void frontend_callback(void *frontend);

/* Take `fd`, on which somebody will ask, into the table; `on_message` is called when it has said
 * something. NULL when the table is full or the system refuses; then `fd` is closed. */
struct frontend *frontend_add(int fd, bool is_connection, frontend_callback *on_message);

/* Start a broker on the three standard descriptors, which stay the caller's, as a new frontend.
 * 0 or -errno. */
int frontend_add_broker(const int stdio[3], frontend_callback *on_message);

/* The connection `frontend` hands its client over: a broker asks in its place from now on. 0 or
 * -errno, after which it is to be ended. */
int frontend_hand_over(struct frontend *frontend, const int stdio[3]);

/* Take the factory's answer about the broker of `slot`, with its pidfd. 0, or -EPROTO for a slot
 * that did not ask. */
int frontend_broker_started(uint32_t slot, int *pidfd);
int frontend_broker_failed(uint32_t slot);

/* Say over a connection why its client is not, or no longer, served. One that is gone, or does not
 * read, hears of it anyway: its connection ends. */
void frontend_tell_client_end(const struct channel *client, enum client_end_reason reason);

/* Stop serving it and end what it asked for. Its client, if it has one, is told `reason`. */
void frontend_end(struct frontend *frontend, enum client_end_reason reason);

/* To be called before the first turn of the loop and in each: while the factory is behind, or the
 * default profile's layers are not proven yet, no frontend is heard; what it asks waits in its own
 * channel. */
void frontend_regulate(void);

/* Send a message to each frontend that has said hello; stop serving one that does not read. */
void frontend_tell_all(uint32_t type, const void *message, const int *fds);

/* At our own end: each sees the end of its channel and ends by itself, with what it still has to
 * say to its client. */
void frontend_let_all_go(void);

/* How many are served; with or without connections that have not said yet what they want, or only
 * ask. */
uint32_t frontend_count(bool with_silent);

#endif
