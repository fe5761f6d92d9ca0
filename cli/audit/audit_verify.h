/* SPDX-License-Identifier: Apache-2.0
 *
 * Is the audit log as it was written?
 */
#ifndef CLI_AUDIT_AUDIT_VERIFY_H
#define CLI_AUDIT_AUDIT_VERIFY_H

#include "audit/audit_read.h"

struct audit_verdict {
	uint64_t records;
	uint64_t torn;     /* lines that a killed writer left, each closed off by the next one */
	uint64_t findings; /* lines that are not as they were written */
};

/* Follow the chain through all files. Each finding is a line on stderr, with its file and line. 0
 * or -errno. */
int audit_verify(const struct audit_log *log, struct audit_verdict *ret);

#endif
