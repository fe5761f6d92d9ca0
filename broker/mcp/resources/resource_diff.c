/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/resources/resources.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc_changes.h"
#include "common/ipc_refused.h"
#include "common/refusal.h"
#include "lib/heap/memory.h"
#include "mcp/core/change_page.h"
#include "mcp/core/changes_job.h"
#include "mcp/core/sandbox_search.h"
#include "mcp/core/sandboxes.h"
#include "mcp/resources/subscriptions.h"

#define DIFF_URI "sandbox://{id}/diff"

/* Room left by the lines around it. */
#define TEXT_BYTES (RESOURCE_BYTES_MAX - 4096)

/* A reading: it finds the sandbox, then reads its changes. */
struct reading {
	struct sandbox_search search; /* first */
	struct changes_job job;
	bool is_found;
	struct ipc_changes_start wanted;
	struct change_page page;
	struct resource resource; /* its URI is the copy below */
	char uri[];
};

/* --- what there is -------------------------------------------------------------------------- */

static size_t count_sandboxes(const struct session *session)
{
	return sandbox_resource_count(session, sandbox_resource_each);
}

static void describe_diff(const struct session *session, size_t place, struct resource_entry *ret)
{
	sandbox_resource_describe(session, sandbox_resource_each, place, "diff", "Changes", ret);
}

static void complete_diff(const struct session *session, size_t place,
			  const struct resource_values *values, struct completion *completion)
{
	sandbox_resource_complete(session, sandbox_resource_each, completion);
}

/* --- reading -------------------------------------------------------------------------------- */

static void put_last_line(const struct reading *work, struct buffer *text)
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

static void on_ended(void *context)
{
	struct reading *work = context;
	struct buffer text = { 0 };
	struct call *call = work->job.errand->call;

	if (work->job.done.error != 0 || work->job.is_broken) {
		changes_job_put_problem(&work->job, &text);
		errand_answer(work->job.errand, &text, true);
	} else {
		change_page_put(&work->page, &text);
		put_last_line(work, &text);
		call->cancel = NULL;
		call->work = NULL;
		resources_answer(call, &work->resource, NULL, &text);
		work->job.errand->rules->free(work->job.errand);
	}
	buffer_done(&text);
}

static void on_change(void *context, const struct change *change)
{
	struct reading *work = context;

	change_page_add(&work->page, change);
}

static const struct changes_rules changes_rules = { .found = on_change, .ended = on_ended };

static void on_found(struct sandbox_search *search)
{
	struct reading *work = (struct reading *)search;
	const struct session *session = search->errand.call->session;

	work->is_found = true;
	memcpy(work->wanted.sandbox, search->info.id, sizeof(search->info.id));
	sandboxes_put_owner(session, work->wanted.owner);
	changes_job_start(&work->job, &work->wanted, &(struct chosen_paths){ 0 });
}

static void on_answer(struct errand *errand, const struct supervisor_answer *answer)
{
	struct reading *work = (struct reading *)errand;

	if (work->is_found)
		changes_job_take(&work->job, answer);
	else
		sandbox_search_take(errand, answer);
}

static bool on_refused(struct errand *errand, const struct ipc_execution_refused *refused)
{
	return sandbox_resource_refused(errand, refused, &((struct reading *)errand)->resource);
}

static void free_reading(struct errand *errand)
{
	struct reading *work = (struct reading *)errand;

	changes_job_stop(&work->job);
	change_page_done(&work->page);
	free(work);
}

static const struct errand_rules rules = { .answered = on_answer,
					   .refused = on_refused,
					   .free = free_reading };

static void read_diff(struct call *call, const struct resource *resource)
{
	struct reading *work;

	if (!sandboxes_is_id(resource->values.value[0])) {
		resources_refuse_call(call, resource->uri, resource->uri_size);
		return;
	}
	work = memory_get_zeroed(1, sizeof(*work) + resource->uri_size + 1);
	work->resource = *resource;
	memcpy(work->uri, resource->uri, resource->uri_size);
	work->resource.uri = work->uri;
	work->wanted.operation = CHANGES_DIFF;
	work->wanted.flags = CHANGES_TEXT;
	work->page.room = TEXT_BYTES;
	work->job.rules = &changes_rules;
	work->job.errand = &work->search.errand;
	work->job.work = work;
	work->search.found = on_found;
	sandbox_search_read(&work->search, call, resource->values.value[0], &rules);
}

/* --- what changes --------------------------------------------------------------------------- */

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
	.uri_template = DIFF_URI,
	.name = "diff",
	.title = "Changes of a sandbox",
	.description =
		"The changes in /workspace of a persistent sandbox against the user's project: a "
		"list of files, then unified diffs. It changes with each run in the sandbox.",
	.mime_type = "text/plain",
	.audience = AUDIENCE_USER | AUDIENCE_ASSISTANT,
	.priority = 0.4,
	.is_changing = true,
	.is_looked_up = true,
	.count = count_sandboxes,
	.describe = describe_diff,
	.exists = sandbox_resource_exists,
	.read = read_diff,
	.complete = complete_diff,
};
