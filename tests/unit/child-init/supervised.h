/* SPDX-License-Identifier: Apache-2.0
 *
 * The test as the supervisor: a factory in a process of its own, started from the hand-made plan,
 * and the sandboxes that it makes.
 */
#ifndef UNIT_CHILD_INIT_SUPERVISED_H
#define UNIT_CHILD_INIT_SUPERVISED_H

#include <stdbool.h>

#include "common/ipc/channel.h"

struct ipc_spawn_done;

/* An execution's streams, as its frontend has them. */
struct streams {
	int in;
	int out; /* and what it says on standard error */
};

/* Start the factory; skips the test where there can be none. */
void supervised_begin(uint32_t limits);

/* End it and all of its sandboxes. */
void supervised_end(void);

/* The state directory of the factory that begins next. */
void supervised_state(const char *path);

/* Name a layer, or hand over a workspace, for the next sandbox; or say no more of that one. */
void supervised_layer(uint32_t mount, uint32_t role, const char *id);
void supervised_workspace(uint32_t mount, uint32_t role, const char *path);
void supervised_break_off(void);

/* Ask for a sandbox; its channel is valid when this returns, whatever becomes of it. */
struct channel supervised_ask(uint32_t slot, bool lasts);

/* The same, and the factory makes it. */
struct channel supervised_create(uint32_t slot, bool lasts);

/* Run a shell's command in it, with the streams; what comes of it is told by messages. */
struct streams supervised_spawn(const struct channel *init, uint32_t slot, const char *command);

/* The streams alone, and the spawn alone: argv is `size` bytes with a NUL after each. */
struct streams supervised_attach(const struct channel *init, uint32_t slot);
void supervised_run(const struct channel *init, uint32_t slot, const char *argv, size_t size);

/* The next message, of this type, which is the caller's to use until the next call. */
const struct channel_message *supervised_take(const struct channel *channel, uint32_t type);

/* Take messages until this slot's spawn_done, skipping what is said of starts. */
const struct ipc_spawn_done *supervised_await(const struct channel *init, uint32_t slot);

/* Whoever is at the other end ends, and says nothing before that but what is skipped above. */
bool supervised_ends(const struct channel *channel);

/* How many calls were refused, by the first record. */
uint32_t supervised_denials(const struct ipc_spawn_done *done);

/* All that is said on the stream until its end, closed then. Static storage. */
const char *supervised_read(int *fd);

/* Write a line into it, and close it. */
void supervised_write(int *fd, const char *line);

/* The factory's own channel. */
const struct channel *supervised_factory(void);

#endif
