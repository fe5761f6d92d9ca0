/* SPDX-License-Identifier: Apache-2.0 */
#include "stewards/base/record.h"

#include "common/ipc/channel.h"

/* Longest wait for another holder of the log's lock, as for the record of an execution. */
#define LOCK_MS 5000

struct ipc_audit_record *record_make(enum audit_event event, const struct audit_field *fields,
				     size_t count, uint64_t number)
{
	static struct ipc_audit_record record;

	audit_record_make(&record, event, fields, count);
	record.number = number;
	record.wait_ms = number ? LOCK_MS : 0;
	record.cpu = IPC_AUDIT_ANY_CPU;
	return &record;
}

int record_send(int audit, enum audit_event event, const struct audit_field *fields, size_t count)
{
	const struct channel channel = { audit, IPC_SUPERVISOR, IPC_AUDIT, IPC_SERVE };
	static uint64_t lost; /* one channel for each program */
	struct ipc_audit_record *record = record_make(event, fields, count, 0);
	int error;

	if (audit < 0)
		return 0;
	record->lost = lost;
	error = channel_send(&channel, IPC_TYPE_audit_record, record, NULL, 0);
	lost = error ? lost + 1 : 0;
	return error;
}

struct audit_field record_sandbox(const char *sandbox)
{
	return sandbox[0] ? AUDIT_TEXT(sandbox, sandbox)
			  : (struct audit_field){ .key = AUDIT_KEY_NONE };
}
