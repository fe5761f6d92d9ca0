/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/resources/resources.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "lib/heap/memory.h"
#include "mcp/core/file_job.h"
#include "mcp/core/sandboxes.h"

enum file_variable {
	FILE_SANDBOX,
	FILE_PATH,
};

struct reading {
	struct file_job job;      /* first */
	struct resource resource; /* its URI stands behind the structure */
};

/* Fail instead of cutting: a cut text would be taken for the whole. */
static void fail_large(struct file_job *job)
{
	struct buffer text = { 0 };

	file_job_put_path(job, &text);
	buffer_format(&text,
		      " has %" PRIu64 " bytes, and a resource at most %zu: "
		      "read_sandbox_file reads it in parts.",
		      job->answer.is.size, RESOURCE_BYTES_MAX);
	file_job_answer(job, &text, true);
}

static void on_answered(struct file_job *job)
{
	struct reading *work = (struct reading *)job;
	const struct buffer content = { .bytes = (char *)(uintptr_t)job->rest,
					.size = job->rest_size };

	if (job->answer.is.size > RESOURCE_BYTES_MAX || job->rest_size > RESOURCE_BYTES_MAX) {
		fail_large(job);
	} else if (job->rest_size < job->answer.is.count) {
		file_job_fail(job, "The file could not be read completely. Read it again.");
	} else {
		resources_answer(job->waiting.call, &work->resource, &content, NULL);
		file_job_done(job);
	}
}

/* A missing sandbox gets the text of every missing resource. */
static bool on_refused(struct file_job *job, const struct ipc_execution_refused *refused)
{
	const struct reading *work = (const struct reading *)job;
	struct call *call = job->waiting.call;

	if (refused->reason != REFUSAL_SANDBOX_UNKNOWN && refused->reason != REFUSAL_STATE)
		return false;
	sandboxes_forget(call->session->host, call->session->principal, job->wanted.sandbox);
	resources_refuse_call(call, work->resource.uri, work->resource.uri_size);
	file_job_done(job);
	return true;
}

static const struct file_job_rules rules = { .answered = on_answered, .refused = on_refused };

static void read_resource(struct call *call, const struct resource *resource)
{
	const char *path = resource->values.value[FILE_PATH];
	const struct json_value asked = { .text = (char *)(uintptr_t)path,
					  .size = (uint32_t)strlen(path) };
	struct reading *work;

	if (!sandboxes_is_id(resource->values.value[FILE_SANDBOX])) {
		resources_refuse_call(call, resource->uri, resource->uri_size);
		return;
	}
	work = (struct reading *)file_job_new(sizeof(*work) + resource->uri_size, &rules, call,
					      resource->values.value[FILE_SANDBOX]);
	work->resource = *resource;
	work->resource.uri = memcpy(work + 1, resource->uri, resource->uri_size);
	if (!file_job_ask(&work->job, "read", &asked))
		return;
	(void)file_ask_number(&work->job.wanted, 0);
	(void)file_ask_number(&work->job.wanted, RESOURCE_BYTES_MAX + 1);
	file_job_start(&work->job, NULL);
}

/* Only the sandbox knows its files. */
static bool file_exists(const struct session *session, const struct resource_values *values)
{
	return false;
}

static void complete_file(const struct session *session, size_t place,
			  const struct resource_values *values, struct completion *completion)
{
	const struct known_sandbox *known = NULL;

	while (place == FILE_SANDBOX &&
	       (known = sandboxes_next(session->host, session->principal, known)))
		completion_offer(completion, known->id);
}

const struct resource_provider resource_file = {
	.uri_template = "sandbox://{id}/files/{+path}",
	.name = "file",
	.title = "File of a sandbox",
	.description =
		"A regular file of a persistent sandbox, by its path relative to /workspace. The "
		"tool list_sandbox_files lists files, and read_sandbox_file reads large ones in "
		"parts.",
	.mime_type = "text/plain",
	.priority = 0.4,
	.is_looked_up = true,
	.exists = file_exists,
	.read = read_resource,
	.complete = complete_file,
};
