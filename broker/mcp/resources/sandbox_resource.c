/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/resources/sandbox_resource.h"

#include <stdio.h>

#include "common/ipc_refused.h"
#include "common/refusal.h"

const struct known_sandbox *sandbox_resource_each(const struct session *session,
						  const struct known_sandbox *before)
{
	return sandboxes_next(session->host, session->principal, before);
}

size_t sandbox_resource_count(const struct session *session, sandbox_step *step)
{
	const struct known_sandbox *known = NULL;
	size_t found = 0;

	while ((known = step(session, known)))
		found++;
	return found;
}

void sandbox_resource_describe(const struct session *session, sandbox_step *step, size_t place,
			       const char *word, const char *title, struct resource_entry *ret)
{
	const struct known_sandbox *known = NULL;
	const char *called;

	do
		known = step(session, known);
	while (place-- > 0);
	called = known->name[0] ? known->name : known->id;
	(void)snprintf(ret->values.value[0], RESOURCE_VALUE_MAX, "%s", known->id);
	buffer_format(&ret->name, "%s/%s", called, word);
	buffer_format(&ret->title, "%s of the sandbox %s", title, called);
}

bool sandbox_resource_exists(const struct session *session, const struct resource_values *values)
{
	return sandboxes_known(session->host, session->principal, values->value[0]) != NULL;
}

void sandbox_resource_complete(const struct session *session, sandbox_step *step,
			       struct completion *completion)
{
	const struct known_sandbox *known = NULL;

	while ((known = step(session, known)))
		completion_offer(completion, known->id);
}

bool sandbox_resource_refused(struct errand *errand, const struct ipc_execution_refused *refused,
			      const struct resource *resource)
{
	struct call *call = errand->call;

	if (refused->reason != REFUSAL_SANDBOX_UNKNOWN && refused->reason != REFUSAL_STATE)
		return false;
	call->cancel = NULL;
	call->work = NULL;
	sandboxes_forget(call->session->host, call->session->principal, resource->values.value[0]);
	resources_refuse_call(call, resource->uri, resource->uri_size);
	errand->rules->free(errand);
	return true;
}
