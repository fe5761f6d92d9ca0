/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox://ID/diff: the changes in a persistent sandbox, as diff_changes shows them, but more of
 * them.
 */
#ifndef BROKER_MCP_RESOURCES_RESOURCE_DIFF_H
#define BROKER_MCP_RESOURCES_RESOURCE_DIFF_H

#include "mcp/resources/resources.h"

extern const struct resource_provider resource_diff;

/* Notify subscribers that the files of this sandbox have changed. */
void resource_diff_changed(struct host *host, const char *id);

/* Forget a sandbox that is gone, by the id or name that this client uses, and notify its
 * subscribers. */
void resource_diff_forget(const struct session *session, const char *called);

/* Notify subscribers from now on when an execution in their sandbox has ended. The watch is the
 * host's. */
void resource_diff_watch(struct host *host);

#endif
