/* SPDX-License-Identifier: Apache-2.0 */
#include "base/gateway.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/audit.h"
#include "base/events.h"
#include "common/dispatch.h"
#include "common/fd.h"
#include "common/ipc_gateway.h"
#include "common/log.h"

/* Connections at once whose record is not written yet. */
#define RECORDS_MAX 64

static struct channel gateway = { -1, IPC_SUPERVISOR, IPC_GATEWAY, IPC_SETUP };
static struct loop_watch watch;
static uint32_t last_use;
static struct record {
	uint64_t audited; /* number of the record, 0: none */
	uint64_t connection;
} records[RECORDS_MAX];

static void tell_gateway(uint32_t type, const void *message, const int *fds)
{
	/* One that cannot be told is at its end, which its channel says. */
	(void)channel_send(&gateway, type, message, fds, MSG_DONTWAIT);
}

static struct sandbox *find_cabled(uint32_t slot, uint32_t use)
{
	struct sandbox *sandbox = slot < SANDBOX_SLOTS ? &supervisor.sandboxes[slot] : NULL;

	return sandbox && use > 0 && sandbox->cable == use ? sandbox : NULL;
}

static int handle_cable_made(void *context, struct channel_message *message)
{
	const struct ipc_cable_made *made = ipc_body(message, cable_made);
	struct sandbox *sandbox = find_cabled(made->slot, made->use);

	if (sandbox && made->error)
		event_sandbox_lost(sandbox, STAGE_NETWORK, made->error);
	return 0;
}

static void answer_begin(uint64_t connection, int error)
{
	const struct ipc_connection_begun begun = { connection, (uint32_t)-error };

	tell_gateway(IPC_TYPE_connection_begun, &begun, NULL);
}

/* The connection is not dialled before its record is written; the sandbox may have ended. */
static int handle_connection_begin(void *context, struct channel_message *message)
{
	const struct ipc_connection_begin *begin = ipc_body(message, connection_begin);
	const struct sandbox *sandbox = find_cabled(begin->slot, begin->use);
	struct record *record = records;
	int error = sandbox ? 0 : -ESTALE;

	while (record < records + RECORDS_MAX && record->audited)
		record++;
	if (record == records + RECORDS_MAX)
		error = -EBUSY;
	if (!error)
		error = event_connection_begun(sandbox, begin, &record->audited);
	if (error == -EINPROGRESS)
		record->connection = begin->number;
	else
		answer_begin(begin->number, error);
	return 0;
}

void gateway_audited(uint64_t number, int error)
{
	for (struct record *record = records; record < records + RECORDS_MAX; record++) {
		if (record->audited == number) {
			record->audited = 0;
			answer_begin(record->connection, error);
		}
	}
}

static int handle_connection_end(void *context, struct channel_message *message)
{
	static const char *const reasons[CONNECTION_END_COUNT] = {
		"closed",  "sandbox ended", "not reached", "address refused", "no TLS",
		"no name", "other name",    "hidden name", "no greeting",     "no room",
	};
	const struct ipc_connection_end *end = ipc_body(message, connection_end);

	if (end->reason >= CONNECTION_END_COUNT)
		return -EPROTO;
	AUDIT_NOTE(AUDIT_CONNECTION_END, AUDIT_NUMBER(connection, end->number),
		   AUDIT_TEXT(address, end->address), AUDIT_NUMBER(sent, end->sent),
		   AUDIT_NUMBER(received, end->received), AUDIT_TEXT(reason, reasons[end->reason]));
	return 0;
}

static int handle_connection_refused(void *context, struct channel_message *message)
{
	const struct ipc_connection_refused *refused = ipc_body(message, connection_refused);
	const struct sandbox *sandbox = find_cabled(refused->slot, refused->use);

	if (refused->reason >= CONNECTION_REFUSED_COUNT)
		return -EPROTO;
	if (sandbox)
		event_connection_refused(sandbox, refused);
	return 0;
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_cable_made] = handle_cable_made,
	[IPC_TYPE_connection_begin] = handle_connection_begin,
	[IPC_TYPE_connection_end] = handle_connection_end,
	[IPC_TYPE_connection_refused] = handle_connection_refused,
};

/* With the gateway every cable ends, and so do the sandboxes. */
static void close_gateway(void)
{
	loop_remove(&watch);
	fd_close(&gateway.fd);
	memset(records, 0, sizeof(records));
	for (uint32_t slot = 0; slot < SANDBOX_SLOTS; slot++) {
		struct sandbox *sandbox = &supervisor.sandboxes[slot];

		if (sandbox->cable > 0) {
			sandbox->cable = 0;
			event_sandbox_lost(sandbox, STAGE_NETWORK, ENETDOWN);
		}
	}
}

static void on_gateway(void *context)
{
	static struct channel_message message;
	enum ipc_error wrong = IPC_OK;
	const int status = dispatch_one(&gateway, &message, MSG_DONTWAIT, handlers, NULL, &wrong);

	if (status == 1 || status == -EAGAIN)
		return;
	if (status == -EPROTO)
		audit_violation("gateway", 0, ipc_error_text(wrong));
	log_line("the gateway (msp-cable) has ended%s%s, and sandboxes with hosts end",
		 wrong ? ", " : "", wrong ? ipc_error_text(wrong) : "");
	close_gateway();
	event_gateway_lost();
}

int gateway_open(int fd)
{
	struct ipc_gateway_start start;

	close_gateway();
	memcpy(start.schema, ipc_schema_hash, sizeof(start.schema));
	gateway = (struct channel){ fd, IPC_SUPERVISOR, IPC_GATEWAY, IPC_SETUP };
	tell_gateway(IPC_TYPE_gateway_start, &start, NULL);
	gateway.phase = IPC_SERVE;
	for (uint32_t slot = 0; slot < GENERATIONS_MAX; slot++) {
		if (supervisor.generations[slot].plan.bytes)
			gateway_policy(slot, supervisor.generations[slot].fd);
	}
	return loop_add(&watch, fd, on_gateway, NULL);
}

bool gateway_is_open(void)
{
	return gateway.fd >= 0;
}

void gateway_policy(uint32_t slot, int plan)
{
	const struct ipc_gateway_policy policy = { slot };

	tell_gateway(IPC_TYPE_gateway_policy, &policy, &plan);
}

void gateway_forget(uint32_t slot)
{
	const struct ipc_gateway_forget forget = { slot };

	tell_gateway(IPC_TYPE_gateway_forget, &forget, NULL);
}

void gateway_make(struct sandbox *sandbox, const int fds[2])
{
	const struct ipc_cable_make make = { sandbox->slot, ++last_use, sandbox->generation,
					     sandbox->profile };

	gateway_leave(sandbox);
	sandbox->cable = last_use;
	tell_gateway(IPC_TYPE_cable_make, &make, fds);
}

void gateway_leave(struct sandbox *sandbox)
{
	const struct ipc_cable_end end = { sandbox->slot };

	if (sandbox->cable > 0)
		tell_gateway(IPC_TYPE_cable_end, &end, NULL);
	sandbox->cable = 0;
}
