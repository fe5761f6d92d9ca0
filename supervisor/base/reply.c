/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reply.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/audit.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"

int reply_send(const struct frontend *frontend, uint32_t type, const void *message)
{
	return state_send(&frontend->channel, type, message, NULL);
}

int reply_refuse(const struct frontend *frontend, uint64_t request, enum refusal reason,
		 const char *detail, uint32_t retry_ms)
{
	static struct ipc_execution_refused refused;

	audit_refused(frontend, reason);
	refused.request = request;
	refused.reason = reason;
	refused.retry_ms = retry_ms;
	strncpy(refused.detail, detail, sizeof(refused.detail) - 1);
	return reply_send(frontend, IPC_TYPE_execution_refused, &refused);
}

enum refusal reply_reason(enum refusal reason, const char *text, char detail[IPC_LIST_MAX])
{
	(void)snprintf(detail, IPC_LIST_MAX, "%s", text);
	return reason;
}

void reply_give_up(const struct frontend *frontend)
{
	(void)shutdown(frontend->channel.fd, SHUT_RDWR);
}

int reply_done(const struct frontend *frontend, uint64_t request, int error)
{
	const struct ipc_request_done done = { .request = request };

	return error ? reply_refuse(frontend, request, REFUSAL_RESOURCES, errno_text(-error), 0)
		     : reply_send(frontend, IPC_TYPE_request_done, &done);
}
