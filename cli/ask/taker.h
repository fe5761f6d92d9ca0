/* SPDX-License-Identifier: Apache-2.0
 *
 * The taker of a workload's output, in place of the caller's streams.
 */
#ifndef CLI_ASK_TAKER_H
#define CLI_ASK_TAKER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ipc_execution_started;

/* Descriptors that a holder waits for. */
#define HOLDER_SLOTS 4

/* Holds the workload's terminal in place of the caller's. */
struct session_holder {
	void *context;
	/* Called with the terminal's master side, which is the holder's; the session reads it. 0,
	 * or -errno, which ends the execution. */
	int (*opened)(void *context, int terminal);
	void (*output)(void *context, const uint8_t *bytes, size_t size);
	/* Fill the slots for poll(2). Return whether output is taken now. */
	bool (*fill)(void *context, struct pollfd entries[HOLDER_SLOTS]);
	void (*step)(void *context, const struct pollfd entries[HOLDER_SLOTS]);
	/* Return the longest wait in milliseconds, -1 for ever. */
	int (*wait_ms)(const void *context);
};

struct session_taker {
	void *context;
	/* Called when the supervisor has accepted the execution; NULL: of no interest. Returns 0,
	 * or -errno, which ends the execution. */
	int (*started)(void *context, const struct ipc_execution_started *started);
	void (*output)(void *context, bool is_stderr, const uint8_t *bytes, size_t size);
	const struct session_holder *holder; /* NULL: the workload has no terminal */
};

#endif
