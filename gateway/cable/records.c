/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/records.h"

#include "common/ipc/ipc_gateway.h"
#include "common/ipc/ipc_network.h"
#include "gateway/cable/cables.h"
#include "stewards/base/record.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

void records_end(const struct ipc_connection_end *end, const char *sandbox)
{
	static const char *const reasons[CONNECTION_END_COUNT] = {
		[CONNECTION_END_SIDES] = "closed",
		[CONNECTION_END_SANDBOX] = "sandbox ended",
		[CONNECTION_END_DIAL] = "not reached",
		[CONNECTION_END_NO_ROUTE] = "no route",
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
		[CONNECTION_END_PROXY_DIAL] = "proxy not reached",
		[CONNECTION_END_PROXY_REFUSED] = "proxy refused",
		[CONNECTION_END_PROXY_LOGIN] = "proxy wants a login",
		[CONNECTION_END_PROXY_ANSWER] = "no answer of the proxy",
		[CONNECTION_END_CUT] = "taken away",
		[CONNECTION_END_PARTIAL] = "answer broken off",
	};
	const struct audit_field fields[] = {
		AUDIT_NUMBER(cable, end->use),
		AUDIT_NUMBER(connection, end->number),
		AUDIT_TEXT(address, end->address),
		AUDIT_NUMBER(sent, end->sent),
		AUDIT_NUMBER(received, end->received),
		AUDIT_TEXT(reason, reasons[end->reason]),
		record_sandbox(sandbox),
	};

	/* A failure is counted. */
	(void)record_send(GATEWAY_FD_AUDIT, AUDIT_CONNECTION_END, fields, COUNT(fields));
}

void records_refused(const struct ipc_connection_refused *refused, const char *sandbox)
{
	static const char *const reasons[CONNECTION_UNKNOWN] = {
		[CONNECTION_REFUSED_HOST] = "host",       [CONNECTION_REFUSED_PORT] = "port",
		[CONNECTION_REFUSED_ADDRESS] = "address", [CONNECTION_REFUSED_TLS] = "TLS",
		[CONNECTION_REFUSED_LIMIT] = "limit",     [CONNECTION_REFUSED_REQUEST] = "request",
		[CONNECTION_REFUSED_SECRET] = "secret",   [CONNECTION_REFUSED_PROXY] = "proxy",
		[CONNECTION_REFUSED_CUT] = "taken away",  [CONNECTION_REFUSED_HIDDEN] = "hidden",
		[CONNECTION_REFUSED_NAMES] = "names",     [CONNECTION_REFUSED_OWN] = "own",
	};
	const struct audit_field fields[] = {
		AUDIT_NUMBER(cable, refused->use),
		AUDIT_TEXT(layer, "network"),
		AUDIT_TEXT(operation, refused->port ? "connect" : "resolve"),
		AUDIT_TEXT(host, refused->host),
		AUDIT_NUMBER(port, refused->port),
		AUDIT_TEXT(reason, reasons[refused->reason]),
		record_sandbox(sandbox),
	};

	(void)record_send(GATEWAY_FD_AUDIT, AUDIT_DENIAL, fields, COUNT(fields)); /* it counts */
}

int records_grant(const struct ipc_network_grant *grant, const struct party *to,
		  const char *sandbox, bool is_broker)
{
	const struct audit_field fields[] = {
		to->slot < GATEWAY_SLOTS ? AUDIT_NUMBER(cable, to->use)
					 : AUDIT_NUMBER(frontend, to->frontend),
		AUDIT_TEXT(asks, is_broker ? "user of a client" : "person"),
		AUDIT_TEXT(host, grant->host),
		AUDIT_NUMBER(port, grant->port),
		record_sandbox(sandbox),
	};

	return record_send(GATEWAY_FD_AUDIT,
			   grant->is_cut ? AUDIT_NETWORK_CUT : AUDIT_NETWORK_GRANT, fields,
			   COUNT(fields));
}
