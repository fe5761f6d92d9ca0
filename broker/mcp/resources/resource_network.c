/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/resources/resources.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "frontend/network_json.h"
#include "frontend/profile_names.h"
#include "lib/heap/memory.h"
#include "mcp/core/sandbox_search.h"
#include "mcp/core/sandboxes.h"

/* msp-cable answers at once, unless it is stopped; the supervisor may have other work. */
#define ANSWER_S 5

/* A reading: it finds the sandbox, then looks at its network. */
struct reading {
	struct sandbox_search search; /* first */
	int fd;                       /* -1: it is not looked at yet */
	struct event *event;
	struct network_view view;
	struct resource resource; /* its URI is the copy below */
	char uri[];
};

static bool is_offered(const struct host *host)
{
	return host->posture.has_hosts;
}

/* Return whether the sandbox can have a network: its profile has hosts, or is not known. */
static bool has_network(const struct session *session, const struct known_sandbox *known)
{
	const struct plan_profile *profile = profile_named(&session->host->plan, known->profile);

	return !profile || profile->network == PLAN_NETWORK_HOSTS;
}

/* Return the next sandbox of the session with a network; NULL: there is none. */
static const struct known_sandbox *next_sandbox(const struct session *session,
						const struct known_sandbox *known)
{
	do
		known = sandbox_resource_each(session, known);
	while (known && !has_network(session, known));
	return known;
}

static size_t count_sandboxes(const struct session *session)
{
	return sandbox_resource_count(session, next_sandbox);
}

static void describe_network(const struct session *session, size_t place,
			     struct resource_entry *ret)
{
	sandbox_resource_describe(session, next_sandbox, place, "network", "Network", ret);
}

static void complete_network(const struct session *session, size_t place,
			     const struct resource_values *values, struct completion *completion)
{
	sandbox_resource_complete(session, next_sandbox, completion);
}

/* --- reading -------------------------------------------------------------------------------- */

static void answer_view(struct reading *work)
{
	struct buffer text = { 0 };
	struct json_writer writer = { .out = &text };
	struct call *call = work->search.errand.call;

	network_json_put(&writer, &work->view, work->search.info.is_live != 0);
	call->cancel = NULL;
	call->work = NULL;
	resources_answer(call, &work->resource, NULL, &text);
	work->search.errand.rules->free(&work->search.errand);
	buffer_done(&text);
}

static void fail_reading(struct reading *work)
{
	errand_fail_text(&work->search.errand, "The network of the sandboxes does not answer. Read "
					       "it again in a moment.");
}

static void on_rows(evutil_socket_t fd, short what, void *argument)
{
	struct reading *work = argument;

	if ((what & EV_TIMEOUT) != 0)
		fail_reading(work);
	else if (network_look_take(fd, &work->view))
		answer_view(work);
}

static void on_found(struct sandbox_search *search)
{
	static const struct timeval most = { .tv_sec = ANSWER_S };
	struct reading *work = (struct reading *)search;
	const struct session *session = search->errand.call->session;
	struct ipc_network_watch watch = { .request = 0 };

	if (!search->info.is_live) {
		answer_view(work);
		return;
	}
	memcpy(watch.sandbox, search->info.id, sizeof(search->info.id));
	sandboxes_put_owner(session, watch.owner);
	work->fd = requests_network_look(session->host->requests, &watch);
	if (work->fd < 0) {
		fail_reading(work);
		return;
	}
	work->event = event_new(session->host->base, work->fd, EV_READ | EV_PERSIST, on_rows, work);
	if (!work->event || event_add(work->event, &most) != 0)
		bug("no event for a look at a network");
}

static bool on_refused(struct errand *errand, const struct ipc_execution_refused *refused)
{
	return sandbox_resource_refused(errand, refused, &((struct reading *)errand)->resource);
}

static void free_reading(struct errand *errand)
{
	struct reading *work = (struct reading *)errand;

	if (work->event)
		event_free(work->event);
	fd_close(&work->fd);
	free(work);
}

static const struct errand_rules rules = { .answered = sandbox_search_take,
					   .refused = on_refused,
					   .free = free_reading };

static void read_network(struct call *call, const struct resource *resource)
{
	struct reading *work;

	if (!sandboxes_is_id(resource->values.value[0])) {
		resources_refuse_call(call, resource->uri, resource->uri_size);
		return;
	}
	work = memory_get_zeroed(1, sizeof(*work) + resource->uri_size + 1);
	work->fd = -1;
	work->resource = *resource;
	memcpy(work->uri, resource->uri, resource->uri_size);
	work->resource.uri = work->uri;
	work->search.found = on_found;
	sandbox_search_read(&work->search, call, resource->values.value[0], &rules);
}

const struct resource_provider resource_network = {
	.uri_template = "sandbox://{id}/network",
	.name = "network",
	.title = "Network of a sandbox",
	.description = "The open connections of a persistent sandbox whose profile has hosts, the "
		       "hosts that were granted or taken away, and the last refusals, as JSON.",
	.mime_type = "application/json",
	.audience = AUDIENCE_USER | AUDIENCE_ASSISTANT,
	.priority = 0.2,
	.is_changing = true,
	.is_looked_up = true,
	.is_offered = is_offered,
	.count = count_sandboxes,
	.describe = describe_network,
	.exists = sandbox_resource_exists,
	.read = read_network,
	.complete = complete_network,
};
