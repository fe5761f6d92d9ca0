/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/host_answers.h"

#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_network.h"
#include "executions/share.h"
#include "lib/heap/memory.h"
#include "mcp/core/host.h"

struct kept_answer {
	struct kept_answer *next;
	struct execution_owner owner;
	enum host_consent answer;
	uint32_t port;
	char name[IPC_HOST_MAX];
};

enum host_consent host_answers_find(const struct host *host, const struct execution_owner *owner,
				    const struct ipc_network_grant *grant)
{
	for (const struct kept_answer *kept = host->answers; kept; kept = kept->next) {
		if (execution_owner_is(&kept->owner, owner) && kept->port == grant->port &&
		    strcmp(kept->name, grant->host) == 0)
			return kept->answer;
	}
	return HOST_CONSENT_NONE;
}

bool host_answers_have_room(const struct host *host, const struct execution_owner *owner)
{
	size_t used = 0, of_principal = 0, of_owner = 0;

	for (const struct kept_answer *kept = host->answers; kept; kept = kept->next) {
		used++;
		of_principal += kept->owner.principal == owner->principal;
		of_owner += execution_owner_is(&kept->owner, owner);
	}
	return of_owner < HOST_ANSWERS_PER_OWNER &&
	       share_allows(owner->principal, of_principal, used, HOST_ANSWERS_MAX, 1);
}

void host_answers_keep(struct host *host, const struct execution_owner *owner,
		       const struct ipc_network_grant *grant, enum host_consent answer)
{
	struct kept_answer *kept = memory_get_zeroed(1, sizeof(*kept));

	kept->owner = *owner;
	kept->answer = answer;
	kept->port = grant->port;
	memcpy(kept->name, grant->host, sizeof(kept->name));
	kept->next = host->answers;
	host->answers = kept;
}

void host_answers_forget(struct host *host, const struct execution_owner *owner)
{
	struct kept_answer **link = &host->answers;

	while (*link) {
		struct kept_answer *kept = *link;

		if (owner && !execution_owner_is(&kept->owner, owner)) {
			link = &kept->next;
			continue;
		}
		*link = kept->next;
		free(kept);
	}
}
