/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/session.h"

#include <string.h>

#include "lib/heap/chain.h"
#include "mcp/core/bridges.h"
#include "mcp/core/call.h"
#include "mcp/core/host_answers.h"

void session_init(struct session *session, struct host *host, uint32_t principal,
		  struct exchange *channel)
{
	memset(session, 0, sizeof(*session));
	session->host = host;
	session->principal = principal;
	session->number = ++host->last_session;
	session->channel = channel;
	session->log_level = LOG_LEVEL_INFO;
	session->next = host->sessions;
	host->sessions = session;
}

struct execution_owner session_owner(const struct session *session)
{
	const struct execution_owner owner = {
		.principal = session->principal,
		.session = session->owns_executions ? session->number : 0,
	};

	return owner;
}

void session_done(struct session *session)
{
	const struct execution_owner owner = session_owner(session);

	while (session->calls)
		call_cancel(session->calls);
	if (session->end_subscriptions)
		session->end_subscriptions(session);
	if (session->owns_executions) {
		executions_end_owner(session->host->executions, &owner);
		host_answers_forget(session->host, &owner);
		bridges_end(session->host, &owner);
	}
	CHAIN_REMOVE(session->host->sessions, session, next);
}
