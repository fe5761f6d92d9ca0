/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries bytes from one descriptor to another inside a poll loop: splice(2) where the kernel can,
 * read and write where not, never more than the receiver takes, and never waiting in a call. The
 * caller's own descriptors are shared with other programs, so their O_NONBLOCK is not touched.
 */
#ifndef CLI_ASK_RELAY_H
#define CLI_ASK_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELAY_BUFFER_BYTES 65536
#define RELAY_TAIL_BYTES 4096

enum relay_state {
	RELAY_SOURCE, /* waits for bytes to come */
	RELAY_SINK,   /* waits for room */
	RELAY_ENDED,  /* end of file was reached and everything has been passed on */
	RELAY_BROKEN, /* no process reads the sink any more */
	RELAY_FAILED, /* `error` says why */
};

/* How one end wants to be treated. */
enum relay_end {
	RELAY_OWN,  /* ours, O_NONBLOCK */
	RELAY_PIPE, /* the caller's: blocks unless asked otherwise in the call */
	RELAY_SOCKET,
	RELAY_FILE, /* a regular file, or a device such as /dev/null */
	RELAY_TERMINAL,
};

/* The end of what a stream has carried. */
struct relay_tail {
	size_t size;
	uint8_t bytes[RELAY_TAIL_BYTES];
};

struct relay {
	int source;
	int sink;
	enum relay_end source_end;
	enum relay_end sink_end;
	enum relay_state state;
	int error;
	bool uses_splice;
	uint64_t taken;          /* bytes from the source so far */
	size_t begin, end;       /* bytes in the buffer */
	uint8_t *buffer;         /* RELAY_BUFFER_BYTES, the caller's; not used while splicing */
	struct relay_tail *tail; /* the caller's, which gets what is not spliced; NULL: none */
};

/* Return the kind of end that one of the caller's descriptors is. */
enum relay_end relay_end_of(int fd);

/* Both descriptors stay the caller's. An end that is ours must be O_NONBLOCK. */
void relay_init(struct relay *relay, int source, enum relay_end source_end, int sink,
		enum relay_end sink_end);

bool relay_is_over(const struct relay *relay);

/* Fill entries for poll(2): [0] the source, [1] the sink. With `watch_sink`, the end of the sink's
 * reader is noticed although there is nothing to write. */
void relay_poll(const struct relay *relay, bool watch_sink, struct pollfd entries[2]);

/* Move what can be moved after poll(2); looks at the entries' revents. Returns the new state. */
enum relay_state relay_step(struct relay *relay, const struct pollfd entries[2]);

#endif
