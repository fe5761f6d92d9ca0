/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox://ID/diff: what a sandbox that lasts has changed, as diff_changes shows it, only more.
 */
#ifndef BROKER_MCP_RESOURCE_DIFF_H
#define BROKER_MCP_RESOURCE_DIFF_H

#include "mcp/resources.h"

extern const struct resource_provider resource_diff;

/* The files of this sandbox are not what they were. */
void resource_diff_changed(struct host *host, const char *id);

/* Tell those who subscribed when an execution in their sandbox has ended, from now on. The watch is
 * the host's. */
void resource_diff_watch(struct host *host);

#endif
