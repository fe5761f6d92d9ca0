/* SPDX-License-Identifier: Apache-2.0
 *
 * The resources of a persistent sandbox that the supervisor is asked about: the changes of its
 * files, and its network.
 */
#include "mcp/resources/resources.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "frontend/network_json.h"
#include "frontend/profile_names.h"
#include "lib/heap/memory.h"
#include "mcp/core/change_page.h"
#include "mcp/core/changes_job.h"
#include "mcp/core/sandbox_search.h"
#include "mcp/core/sandboxes.h"
#include "mcp/resources/subscriptions.h"

/* Room left by the lines around the changes. */
#define TEXT_BYTES (RESOURCE_BYTES_MAX - 4096)

/* msp-cable answers at once, unless it is stopped; the supervisor may have other work. */
#define ANSWER_S 5

/* --- lists ---------------------------------------------------------------------------------- */

/* Describe an entry whose name ends with `word`, and whose title begins with `title`. */
static void describe_sandbox(const struct known_sandbox *known, const char *word, const char *title,
			     const struct resource_walk *walk)
{
	const char *called = known->name[0] ? known->name : known->id;
	struct resource_entry entry = { .has_size = false };

	(void)snprintf(entry.values.value[0], RESOURCE_VALUE_MAX, "%s", known->id);
	buffer_format(&entry.name, "%s/%s", called, word);
	buffer_format(&entry.title, "%s of the sandbox %s", title, called);
	resources_put(walk, &entry);
}

static bool sandbox_exists(const struct session *session, const struct resource_values *values)
{
	return sandboxes_known(session->host, session->principal, values->value[0]) != NULL;
}

static void list_diffs(const struct session *session, struct resource_walk *walk)
{
	const struct known_sandbox *known = NULL;

	while ((known = sandboxes_next(session->host, session->principal, known))) {
		if (resources_wants(walk))
			describe_sandbox(known, "diff", "Changes", walk);
	}
}

/* Return whether the sandbox can have a network: its profile has hosts, or is not known. */
static bool has_network(const struct session *session, const struct known_sandbox *known)
{
	const struct plan_profile *profile = profile_named(&session->host->plan, known->profile);

	return !profile || profile->network == PLAN_NETWORK_HOSTS;
}

static void list_networks(const struct session *session, struct resource_walk *walk)
{
	const struct known_sandbox *known = NULL;

	while ((known = sandboxes_next(session->host, session->principal, known))) {
		if (has_network(session, known) && resources_wants(walk))
			describe_sandbox(known, "network", "Network", walk);
	}
}

/* --- reading -------------------------------------------------------------------------------- */

/* A reading: it finds the sandbox, then reads of it. First in the structure of its resource. */
struct reading {
	struct sandbox_search search; /* first */
	struct resource resource;     /* its URI stands behind the structure */
};

/* Make the structure of a resource, with `size` bytes. NULL: the call has been refused. */
static void *reading_new(size_t size, struct call *call, const struct resource *resource)
{
	struct reading *reading;

	if (!sandboxes_is_id(resource->values.value[0])) {
		resources_refuse_call(call, resource->uri, resource->uri_size);
		return NULL;
	}
	reading = memory_get_zeroed(1, size + resource->uri_size + 1);
	reading->resource = *resource;
	reading->resource.uri = memcpy((char *)reading + size, resource->uri, resource->uri_size);
	memcpy(reading->search.wanted, resource->values.value[0], SANDBOX_ID_CHARS);
	return reading;
}

static void answer_reading(struct reading *reading, const struct buffer *text)
{
	resources_answer(errand_leave(&reading->search.errand), &reading->resource, text, NULL);
	errand_free(&reading->search.errand);
}

/* Answer for a sandbox that is missing as for every missing resource, and forget it. False: it is
 * another refusal. */
static bool on_refused(struct errand *errand, const struct ipc_execution_refused *refused)
{
	struct reading *reading = (struct reading *)errand;
	const struct resource *resource = &reading->resource;
	struct call *call;

	if (refused->reason != REFUSAL_SANDBOX_UNKNOWN && refused->reason != REFUSAL_STATE)
		return false;
	call = errand_leave(errand);
	sandboxes_forget(call->session->host, call->session->principal, resource->values.value[0]);
	resources_refuse_call(call, resource->uri, resource->uri_size);
	errand_free(errand);
	return true;
}

/* --- changes -------------------------------------------------------------------------------- */

struct diff_reading {
	struct reading reading; /* first */
	struct changes_job job;
	struct ipc_changes_start wanted;
	struct change_page page;
};

static void put_last_line(const struct diff_reading *work, struct buffer *text)
{
	const uint64_t total = work->job.done.total;

	buffer_end_line(text);
	if (total == 0)
		buffer_append_text(text, "[no file differs from the project on the host");
	else if (work->page.count < total)
		buffer_format(text,
			      "[%" PRIu64 " of %" PRIu64
			      " changes; diff_changes shows the others with offset",
			      work->page.count, total);
	else
		buffer_format(text, "[%" PRIu64 " change%s", total, total == 1 ? "" : "s");
	changes_job_put_ignored(&work->job.done, text);
	buffer_append_text(text, "]\n");
}

static void on_ended(struct errand *errand)
{
	struct diff_reading *work = (struct diff_reading *)errand;
	struct buffer text = { 0 };

	if (work->job.done.error != 0 || work->job.is_broken) {
		changes_job_put_problem(&work->job, &text);
		errand_answer(errand, &text, true);
	} else {
		change_page_put(&work->page, &text);
		put_last_line(work, &text);
		answer_reading(&work->reading, &text);
	}
	buffer_done(&text);
}

static void on_change(struct errand *errand, const struct change *change)
{
	change_page_add(&((struct diff_reading *)errand)->page, change);
}

static const struct changes_rules changes_rules = { .found = on_change, .ended = on_ended };

static void on_diff_found(struct sandbox_search *search)
{
	struct diff_reading *work = (struct diff_reading *)search;

	changes_job_start(&work->job, &search->errand, &changes_rules, search->info.id,
			  &work->wanted, &(struct chosen_paths){ 0 });
}

static void free_diff(struct errand *errand)
{
	struct diff_reading *work = (struct diff_reading *)errand;

	changes_job_stop(&work->job);
	change_page_done(&work->page);
	free(work);
}

static const struct errand_rules diff_rules = { .refused = on_refused, .free = free_diff };

static void read_diff(struct call *call, const struct resource *resource)
{
	struct diff_reading *work = reading_new(sizeof(*work), call, resource);

	if (!work)
		return;
	work->wanted.operation = CHANGES_DIFF;
	work->wanted.flags = CHANGES_TEXT;
	work->page.room = TEXT_BYTES;
	sandbox_search_begin(&work->reading.search, call, on_diff_found, &diff_rules);
}

void resource_diff_changed(struct host *host, const char *id)
{
	struct buffer uri = { 0 };

	if (!host->subscriptions)
		return;
	buffer_format(&uri, "sandbox://%s/diff", id);
	host_resource_updated(host, uri.bytes, uri.size);
	buffer_done(&uri);
}

void resource_diff_forget(const struct session *session, const char *called)
{
	const char *id = NULL;
	char copy[IPC_ID_MAX];

	if (called[0])
		id = sandboxes_id_of(session->host, session->principal, called);
	if (!id)
		return;
	memcpy(copy, id, sizeof(copy)); /* the table's own is freed */
	resource_diff_changed(session->host, copy);
	sandboxes_forget(session->host, session->principal, copy);
}

static void on_event(struct execution_watch *watch, struct execution *execution,
		     enum execution_event event)
{
	struct host *host =
		(struct host *)(void *)((char *)watch - offsetof(struct host, diff_watch));
	const struct execution_info *info = execution_info(execution);

	if (event != EXECUTION_ENDED || !info->is_persistent)
		return;
	if (info->refused && info->refused->reason == REFUSAL_SANDBOX_UNKNOWN)
		sandboxes_forget(host, info->owner.principal, info->sandbox);
	resource_diff_changed(host, info->sandbox);
}

void resource_diff_watch(struct host *host)
{
	host->diff_watch.notify = on_event;
	executions_watch(host->executions, &host->diff_watch);
}

const struct resource_provider resource_diff = {
	.uri_template = "sandbox://{id}/diff",
	.name = "diff",
	.title = "Changes of a sandbox",
	.description =
		"The changes in /workspace of a persistent sandbox against the user's project: a "
		"list of files, then unified diffs. It changes with each run in the sandbox.",
	.mime_type = "text/plain",
	.priority = 0.4,
	.is_looked_up = true,
	.list = list_diffs,
	.exists = sandbox_exists,
	.read = read_diff,
};

/* --- network -------------------------------------------------------------------------------- */

struct network_reading {
	struct reading reading; /* first */
	int fd;                 /* -1: it is not looked at yet */
	struct event *event;
	struct network_view view;
};

static bool has_hosts(const struct host *host)
{
	return host->posture.has_hosts;
}

static void answer_view(struct network_reading *work)
{
	struct buffer text = { 0 };
	struct json_writer writer = { .out = &text };

	network_json_put(&writer, &work->view, work->reading.search.info.is_live != 0);
	answer_reading(&work->reading, &text);
	buffer_done(&text);
}

static void fail_reading(struct network_reading *work)
{
	errand_fail(&work->reading.search.errand,
		    "The network of the sandboxes does not answer. Read it again in a moment.");
}

static void on_rows(evutil_socket_t fd, short what, void *argument)
{
	struct network_reading *work = argument;

	if ((what & EV_TIMEOUT) != 0)
		fail_reading(work);
	else if (network_look_take(fd, &work->view))
		answer_view(work);
}

static void on_network_found(struct sandbox_search *search)
{
	static const struct timeval most = { .tv_sec = ANSWER_S };
	struct network_reading *work = (struct network_reading *)search;
	const struct session *session = search->errand.call->session;
	struct ipc_network_watch watch = { .request = 0 };

	if (!search->info.is_live) {
		answer_view(work);
		return;
	}
	sandboxes_head(session, search->info.id, &watch.head);
	work->fd = network_watch_begin(session->host->supervisor, &watch, NULL);
	if (work->fd < 0) {
		fail_reading(work);
		return;
	}
	work->event = event_new(session->host->base, work->fd, EV_READ | EV_PERSIST, on_rows, work);
	if (!work->event || event_add(work->event, &most) != 0)
		bug("no event for a look at a network");
}

static void free_network(struct errand *errand)
{
	struct network_reading *work = (struct network_reading *)errand;

	if (work->event)
		event_free(work->event);
	fd_close(&work->fd);
	free(work);
}

static const struct errand_rules network_rules = { .refused = on_refused, .free = free_network };

static void read_network(struct call *call, const struct resource *resource)
{
	struct network_reading *work = reading_new(sizeof(*work), call, resource);

	if (!work)
		return;
	work->fd = -1;
	sandbox_search_begin(&work->reading.search, call, on_network_found, &network_rules);
}

const struct resource_provider resource_network = {
	.uri_template = "sandbox://{id}/network",
	.name = "network",
	.title = "Network of a sandbox",
	.description = "The open connections of a persistent sandbox whose profile has hosts, the "
		       "hosts that were granted or taken away, and the last refusals, as JSON.",
	.mime_type = "application/json",
	.priority = 0.2,
	.is_looked_up = true,
	.is_offered = has_hosts,
	.list = list_networks,
	.exists = sandbox_exists,
	.read = read_network,
};
