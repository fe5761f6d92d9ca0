/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's answers about hosts, kept for the session: a refusal is not asked about again, and a
 * consent holds for the same host and port.
 */
#ifndef BROKER_MCP_CORE_HOST_ANSWERS_H
#define BROKER_MCP_CORE_HOST_ANSWERS_H

#include "executions/executions.h"

struct host;
struct ipc_network_grant;

/* The hosts that one session may ask about: too many questions teach people to agree. */
#define HOST_ANSWERS_PER_OWNER 32U
/* The hosts of all sessions; principals share it (share.h). */
#define HOST_ANSWERS_MAX 1024U

enum host_consent {
	HOST_CONSENT_NONE,
	HOST_CONSENT_REFUSED,
	HOST_CONSENT_GRANTED,
};

/* Return the answer about the host and port of the grant. */
enum host_consent host_answers_find(const struct host *host, const struct execution_owner *owner,
				    const struct ipc_network_grant *grant);

/* Return true if one more answer of the owner can be kept. */
bool host_answers_have_room(const struct host *host, const struct execution_owner *owner);

/* Keep an answer that is not kept yet. */
void host_answers_keep(struct host *host, const struct execution_owner *owner,
		       const struct ipc_network_grant *grant, enum host_consent answer);

/* Forget the answers of an owner, or of all (NULL). */
void host_answers_forget(struct host *host, const struct execution_owner *owner);

#endif
