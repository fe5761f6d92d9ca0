/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of the audit log: the msp-audit of each supervisor adds to them while it has the lock.
 *
 * A record is one write, and `head`, which says where the log ends, another one. A writer that is
 * killed in between leaves a log that is longer than its head by a whole record, which then counts,
 * or by the beginning of one, which the next writer closes off: with a newline, and a record with
 * the length of the torn line and its SHA-256. A log that is neither was changed by somebody else,
 * or lost by a machine that went down: then a record says so, and the chain goes on from it.
 */
#ifndef STEWARDS_AUDIT_FILE_H
#define STEWARDS_AUDIT_FILE_H

#include "common/ipc/audit_record.h"

struct ipc_audit_record;

/* Take `directory`, which is ours from now on, and open the log's head in it; `pid` is that of all
 * records. 0 or -errno. */
int audit_file_open(int directory, uint32_t pid);

/* Lock the log. 0; -EAGAIN: another process has kept the lock for 20 ms; another -errno. Sends this
 * process SIGALRM meanwhile, which must have a handler that does not restart calls. */
int audit_file_lock(void);

void audit_file_unlock(void);

/* Add a record, under the lock. 0 or -errno; after an error the log is as it was. */
int audit_file_add(const struct ipc_audit_record *record);

/* Count records as missing: the next record that is added says how many there are. */
void audit_file_lose(uint64_t count);

/* Return how many are missing that no record tells of yet. */
uint64_t audit_file_lost(void);

#endif
