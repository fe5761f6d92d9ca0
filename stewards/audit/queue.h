/* SPDX-License-Identifier: Apache-2.0
 *
 * The records that msp-audit has received and not written yet, in their order.
 */
#ifndef STEWARDS_AUDIT_QUEUE_H
#define STEWARDS_AUDIT_QUEUE_H

#include "common/ipc/audit_record.h"
#include "common/ipc/ipc_audit.h"

/* Bytes of all queued records: some 10,000 of usual size. Only pages that are used take memory. */
#define QUEUE_BYTES (4 << 20)

/* A queued record. */
struct queued {
	uint32_t size; /* this entry's */
	bool is_dropped;
	uint64_t deadline_us; /* clock_now_us() time; of a record with a number */
	struct ipc_audit_record record;
};

/* Return whether any record fits. */
bool queue_has_room(void);

/* Append a right record; there has to be room. */
void queue_put(const struct ipc_audit_record *record, uint64_t deadline_us);

/* Return the oldest entry, or the one behind `entry`; NULL: there is none. They stay where they are
 * until the next queue_put(). */
struct queued *queue_first(void);
struct queued *queue_next(struct queued *entry);

/* Remove the oldest entry. */
void queue_remove(void);

#endif
