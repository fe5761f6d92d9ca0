/* SPDX-License-Identifier: Apache-2.0
 *
 * A record of the audit log as text.
 */
#ifndef STEWARDS_AUDIT_LINE_H
#define STEWARDS_AUDIT_LINE_H

#include "common/ipc/audit_record.h"

struct ipc_audit_record;

/* The fields of every record, and the count of records that are missing before it. */
struct audit_stamp {
	uint64_t seq;
	uint64_t time_us;
	uint32_t pid;
	uint64_t lost; /* 0: no such field */
};

struct audit_line {
	size_t used;
	char bytes[AUDIT_LINE_MAX];
};

/* Write a right record (audit_record_is_right()) that follows the one with the hash `previous`; its
 * own hash goes to `ret_hash`. */
void audit_line_write(struct audit_line *line, const struct audit_stamp *stamp,
		      const struct ipc_audit_record *record, const char previous[AUDIT_HASH_MAX],
		      char ret_hash[AUDIT_HASH_MAX]);

#endif
