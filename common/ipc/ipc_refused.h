/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages from the supervisor to a frontend: a request was refused.
 */
#ifndef COMMON_IPC_IPC_REFUSED_H
#define COMMON_IPC_IPC_REFUSED_H

#include "common/ipc/ipc_message.h"

/* clang-format off */

IPC_MESSAGE(execution_refused,
	(U64, request),
	(U32, reason),   /* enum refusal */
	(U32, retry_ms), /* BUSY, MEMORY: in this time at the latest an execution ends; else 0 */
	(OPT, detail, IPC_LIST_MAX));

/* clang-format on */

#endif
