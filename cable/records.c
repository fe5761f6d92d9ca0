/* SPDX-License-Identifier: Apache-2.0 */
#include "cable/records.h"

#include <errno.h>

#include "common/audit_record.h"
#include "common/channel.h"
#include "common/ipc_audit.h"
#include "common/ipc_gateway.h"

/* Longest wait for another holder of the log's lock, as for the record of an execution. */
#define LOCK_MS 5000

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct channel audit = { GATEWAY_FD_AUDIT, IPC_SUPERVISOR, IPC_AUDIT, IPC_SERVE };
static uint64_t lost; /* records that could not be sent */

/* `number`: of the answer, 0: none. */
static int send_record(enum audit_event event, const struct audit_field *fields, size_t count,
		       uint64_t number)
{
	static struct ipc_audit_record record;
	int error;

	audit_record_make(&record, event, fields, count);
	record.number = number;
	record.wait_ms = number ? LOCK_MS : 0;
	record.cpu = IPC_AUDIT_ANY_CPU;
	record.lost = lost;
	error = channel_send(&audit, IPC_TYPE_audit_record, &record, NULL, 0);
	lost = error ? lost + 1 : 0;
	return error;
}

static struct audit_field sandbox_field(const char *sandbox)
{
	return sandbox[0] ? AUDIT_TEXT(sandbox, sandbox)
			  : (struct audit_field){ .key = AUDIT_KEY_NONE };
}

int records_begin(const struct ipc_connection_begin *begin, const char *sandbox)
{
	const struct audit_field fields[] = {
		AUDIT_NUMBER(cable, begin->use), AUDIT_NUMBER(connection, begin->number),
		AUDIT_TEXT(host, begin->host),   AUDIT_NUMBER(port, begin->port),
		sandbox_field(sandbox),
	};

	return send_record(AUDIT_CONNECTION_BEGIN, fields, COUNT(fields),
			   begin->number | IPC_AUDIT_GATEWAY);
}

void records_end(const struct ipc_connection_end *end, const char *sandbox)
{
	static const char *const reasons[CONNECTION_END_COUNT] = {
		[CONNECTION_END_SIDES] = "closed",
		[CONNECTION_END_SANDBOX] = "sandbox ended",
		[CONNECTION_END_DIAL] = "not reached",
		[CONNECTION_END_FORBIDDEN] = "address refused",
		[CONNECTION_END_NO_TLS] = "no TLS",
		[CONNECTION_END_NO_NAME] = "no name in TLS",
		[CONNECTION_END_OTHER_NAME] = "another name in TLS",
		[CONNECTION_END_HIDDEN_NAME] = "a hidden name in TLS",
		[CONNECTION_END_LATE] = "no TLS in time",
		[CONNECTION_END_LIMIT] = "no room",
		[CONNECTION_END_SPENT] = "limit",
		[CONNECTION_END_IDLE] = "idle",
		[CONNECTION_END_CERTIFICATE] = "certificate refused",
		[CONNECTION_END_REQUEST] = "request refused",
		[CONNECTION_END_ANSWER] = "no answer of HTTP",
		[CONNECTION_END_READER] = "its reader ended",
	};
	const struct audit_field fields[] = {
		AUDIT_NUMBER(cable, end->use),
		AUDIT_NUMBER(connection, end->number),
		AUDIT_TEXT(address, end->address),
		AUDIT_NUMBER(sent, end->sent),
		AUDIT_NUMBER(received, end->received),
		AUDIT_TEXT(reason, reasons[end->reason % CONNECTION_END_COUNT]),
		sandbox_field(sandbox),
	};

	(void)send_record(AUDIT_CONNECTION_END, fields, COUNT(fields), 0); /* it is counted */
}

void records_refused(const struct ipc_connection_refused *refused, const char *sandbox)
{
	static const char *const reasons[CONNECTION_REFUSED_COUNT] = {
		[CONNECTION_REFUSED_HOST] = "host",       [CONNECTION_REFUSED_PORT] = "port",
		[CONNECTION_REFUSED_ADDRESS] = "address", [CONNECTION_REFUSED_TLS] = "TLS",
		[CONNECTION_REFUSED_LIMIT] = "limit",     [CONNECTION_REFUSED_REQUEST] = "request",
		[CONNECTION_REFUSED_SECRET] = "secret",
	};
	const struct audit_field fields[] = {
		AUDIT_NUMBER(cable, refused->use),
		AUDIT_TEXT(layer, "network"),
		AUDIT_TEXT(operation, refused->port ? "connect" : "resolve"),
		AUDIT_TEXT(host, refused->host),
		AUDIT_NUMBER(port, refused->port),
		AUDIT_TEXT(reason, reasons[refused->reason % CONNECTION_REFUSED_COUNT]),
		sandbox_field(sandbox),
	};

	(void)send_record(AUDIT_DENIAL, fields, COUNT(fields), 0); /* it is counted */
}
