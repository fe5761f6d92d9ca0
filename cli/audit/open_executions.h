/* SPDX-License-Identifier: Apache-2.0
 *
 * Executions of persistent sandboxes that have begun and of whose end the audit log has nothing.
 * Those of a killed supervisor are among them until its sandbox is used again: a caller asks a
 * supervisor whether anything runs there.
 */
#ifndef CLI_AUDIT_OPEN_EXECUTIONS_H
#define CLI_AUDIT_OPEN_EXECUTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "audit/audit_read.h"
#include "common/limits.h"
#include "common/sha256.h"

struct open_execution {
	char sandbox[IPC_ID_MAX];
	char argv_sha256[2 * SHA256_BYTES + 1];
	uint64_t pid;       /* its supervisor's */
	uint64_t execution; /* its number there */
	uint64_t time_us;   /* when it began */
};

/* The oldest first. If there are more, the oldest give way. */
struct open_executions {
	size_t count;
	struct open_execution list[EXECUTIONS_MAX];
};

/* Take a record (audit_read.h); the context are the executions. It wants all of them. */
bool open_executions_take(void *context, const char *line, size_t size);

#endif
