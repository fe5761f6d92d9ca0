/* SPDX-License-Identifier: Apache-2.0
 *
 * Records in the audit log of programs that have an end of a channel to a msp-audit.
 */
#ifndef STEWARDS_BASE_RECORD_H
#define STEWARDS_BASE_RECORD_H

#include "common/ipc/audit_record.h"
#include "common/ipc/ipc_audit.h"

/* Return a record, until the next call. With a number, which msp-audit's answer has, it is written
 * within five seconds or refused; with 0 it waits until it can be written. */
struct ipc_audit_record *record_make(enum audit_event event, const struct audit_field *fields,
				     size_t count, uint64_t number);

/* Have a record without an answer written, by the channel `audit`; -1: there is no log. A record
 * that cannot be sent counts as lost in the next one. 0 or -errno. */
int record_send(int audit, enum audit_event event, const struct audit_field *fields, size_t count);

/* Return the field for a persistent sandbox's id; empty: none. */
struct audit_field record_sandbox(const char *sandbox);

#endif
