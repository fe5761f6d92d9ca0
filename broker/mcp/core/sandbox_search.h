/* SPDX-License-Identifier: Apache-2.0
 *
 * The lookup of a persistent sandbox before a tool works on it (sandboxes.c).
 */
#ifndef BROKER_MCP_CORE_SANDBOX_SEARCH_H
#define BROKER_MCP_CORE_SANDBOX_SEARCH_H

#include "common/ipc/ipc_persistent.h"
#include "mcp/core/errand.h"

/* A call that asks the supervisor for a sandbox by id or name. Embedded in the tool's state of the
 * call. */
struct sandbox_search {
	struct errand errand; /* first; free for the next request after the lookup */
	void (*found)(struct sandbox_search *search);
	char wanted[IPC_NAME_MAX]; /* its id or name, set before the lookup */
	bool is_found;
	struct ipc_sandbox_info info; /* the sandbox that was found */
};

/* Look up the wanted sandbox, then call `found`. If there is no such sandbox, the call fails with
 * the supervisor's text for an unknown one. `rules` as for errand_begin(). */
void sandbox_search_begin(struct sandbox_search *search, struct call *call,
			  void (*found)(struct sandbox_search *search),
			  const struct errand_rules *rules);

#endif
