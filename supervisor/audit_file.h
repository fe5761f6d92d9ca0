/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of the audit log: many supervisors add to them, each when it has the lock.
 *
 * A record is one write, and `head`, which says where the log ends, another one. Whoever is killed
 * in between leaves a log that is longer than its head by a whole record, which then counts, or by
 * the beginning of one, which the next writer closes off: with a newline, and a record that says
 * how long the torn line is and what its SHA-256 is. A log that is neither was changed by somebody
 * else, or lost by a machine that went down: then a record says so, and the chain goes on from it.
 */
#ifndef SUPERVISOR_AUDIT_FILE_H
#define SUPERVISOR_AUDIT_FILE_H

#include "audit_line.h"

/* Take `directory`, which is ours from now on, and open what is in it. 0 or -errno. */
int audit_file_open(int directory, uint32_t pid);

/* Return the directory that audit_file_open() took, or -1. */
int audit_file_directory(void);

/*
 * Add a record; wait for the lock at most `wait_us`, and next to not at all when it could not be
 * had the last time. 0; -ETIMEDOUT: somebody keeps the lock; another -errno. After an error the log
 * is as it was.
 */
int audit_file_add(enum audit_event event, const struct audit_field *fields, size_t count,
		   uint64_t wait_us);

#endif
