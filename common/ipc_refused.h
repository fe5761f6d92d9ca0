/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages from the supervisor to a frontend: a request was refused.
 */
#ifndef COMMON_IPC_REFUSED_H
#define COMMON_IPC_REFUSED_H

#include <stdint.h>

#include "common/limits.h"

struct ipc_execution_refused {
	uint64_t request;
	uint32_t reason;   /* enum refusal */
	uint32_t retry_ms; /* BUSY, MEMORY: in this time at the latest an execution ends; else 0 */
	char detail[IPC_LIST_MAX];
};

#endif
