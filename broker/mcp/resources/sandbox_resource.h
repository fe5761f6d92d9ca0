/* SPDX-License-Identifier: Apache-2.0
 *
 * Common parts of the resources of sandboxes (sandbox://ID/...): entries in lists, and the answer
 * for a sandbox that is missing.
 */
#ifndef BROKER_MCP_RESOURCES_SANDBOX_RESOURCE_H
#define BROKER_MCP_RESOURCES_SANDBOX_RESOURCE_H

#include "mcp/core/sandboxes.h"
#include "mcp/resources/resources.h"

struct ipc_execution_refused;

/* Return the next sandbox of the session that has the resource, or the first; NULL: the end. */
typedef const struct known_sandbox *sandbox_step(const struct session *session,
						 const struct known_sandbox *before);

/* The step of a resource that each sandbox has. */
const struct known_sandbox *sandbox_resource_each(const struct session *session,
						  const struct known_sandbox *before);

size_t sandbox_resource_count(const struct session *session, sandbox_step *step);

/* Describe the entry at a place: its name ends with `word`, its title begins with `title`. */
void sandbox_resource_describe(const struct session *session, sandbox_step *step, size_t place,
			       const char *word, const char *title, struct resource_entry *ret);

bool sandbox_resource_exists(const struct session *session, const struct resource_values *values);

void sandbox_resource_complete(const struct session *session, sandbox_step *step,
			       struct completion *completion);

/* Answer for a sandbox that is missing as for every missing resource, and forget it; the reading is
 * freed. False: it is another refusal. */
bool sandbox_resource_refused(struct errand *errand, const struct ipc_execution_refused *refused,
			      const struct resource *resource);

#endif
