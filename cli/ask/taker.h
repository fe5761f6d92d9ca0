/* SPDX-License-Identifier: Apache-2.0
 *
 * The taker of a workload's output, in place of the caller's streams.
 */
#ifndef CLI_ASK_TAKER_H
#define CLI_ASK_TAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ipc_execution_started;

struct session_taker {
	void *context;
	/* Called when the supervisor has accepted the execution; NULL: of no interest. Returns 0,
	 * or -errno, which ends the execution. */
	int (*started)(void *context, const struct ipc_execution_started *started);
	void (*output)(void *context, bool is_stderr, const uint8_t *bytes, size_t size);
};

#endif
