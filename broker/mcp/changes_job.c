/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/changes_job.h"

#include <errno.h>
#include <string.h>

#include "common/fd.h"
#include "common/log.h"
#include "heap/memory.h"
#include "io/text.h"
#include "mcp/events.h"

static void stop_reading(struct changes_job *job)
{
	if (!job->event)
		return;
	event_free(job->event);
	job->event = NULL;
	change_stream_done(&job->stream);
}

void changes_job_stop(struct changes_job *job)
{
	stop_reading(job);
}

static void finish_if_over(struct changes_job *job)
{
	if (job->is_done && !job->event)
		job->rules->ended(job->work);
}

static void on_found(void *context, const struct change *change)
{
	struct changes_job *job = context;

	job->rules->found(job->work, change);
}

static void on_readable(evutil_socket_t fd, short what, void *argument)
{
	struct changes_job *job = argument;
	const int result = change_stream_read(&job->stream, on_found, job);

	(void)fd;
	(void)what;
	if (result == 1)
		return;
	job->is_broken |= result < 0;
	stop_reading(job);
	finish_if_over(job);
}

static void read_records(struct changes_job *job, int records)
{
	if (records < 0) {
		job->is_broken = true;
		return;
	}
	change_stream_init(&job->stream, records);
	job->event = event_new(job->errand->call->session->host->base, records,
			       EV_READ | EV_PERSIST, on_readable, job);
	if (!job->event || event_add(job->event, NULL) != 0)
		give_up("watching a pipe");
}

void changes_job_take(struct changes_job *job, const struct supervisor_answer *answer)
{
	if (answer->kind == ANSWER_CHANGES) {
		read_records(job, answer->records);
		return;
	}
	job->is_done = true;
	job->done = *answer->changes;
	finish_if_over(job);
}

/* The path of the workspace for programs in the sandbox. */
#define INSIDE "/workspace/"

/* Return a path relative to the workspace, without prefixes and slashes that agents add. */
static struct json_value path_beneath(struct json_value *path)
{
	struct json_value ret;
	size_t skipped = 0;

	json_decode(path);
	ret = *path;
	if (ret.size > strlen(INSIDE) && memcmp(ret.text, INSIDE, strlen(INSIDE)) == 0)
		skipped = strlen(INSIDE);
	else if (ret.size > 2 && memcmp(ret.text, "./", 2) == 0)
		skipped = 2;
	ret.text += skipped;
	ret.size -= (uint32_t)skipped;
	while (ret.size > 1 && ret.text[ret.size - 1] == '/')
		ret.size--;
	return ret;
}

/* Seal paths with a NUL after each; no paths stand for all changes. */
static int seal_paths(const struct json_document *document, const struct json_value *paths)
{
	struct buffer list = { 0 };
	int fd;

	for (struct json_value *v = json_first(document, paths); v; v = json_next(document, v)) {
		const struct json_value path = path_beneath(v);

		buffer_append(&list, path.text, path.size);
		buffer_append(&list, "", 1);
	}
	fd = fd_sealed_from_bytes("paths", list.bytes ? list.bytes : "", list.size);
	buffer_done(&list);
	return fd;
}

void changes_job_start(struct changes_job *job, struct ipc_changes_start *wanted,
		       const struct json_document *document, const struct json_value *paths)
{
	struct requests *requests = job->errand->call->session->host->requests;
	const int chosen = seal_paths(document, paths);

	job->is_done = job->is_broken = false;
	if (chosen < 0)
		errand_fail_text(job->errand, "Nothing was done: there is no memory for the paths. "
					      "Call again in a moment.");
	else
		(void)errand_is_asked(job->errand, requests_changes_start(requests, wanted, chosen,
									  &job->errand->asked));
}

static const char *const step_texts[CHANGES_STEP_COUNT] = {
	[CHANGES_STEP_NONE] = "working on the files",
	[CHANGES_STEP_READ] = "reading the sandbox's or the host's files",
	[CHANGES_STEP_OUTPUT] = "reporting the changes",
	[CHANGES_STEP_JOURNAL] = "preparing to change the host's files, which are as they were",
	[CHANGES_STEP_WRITE] = "changing the host's files, which were restored",
	[CHANGES_STEP_CONFIRMED] = "comparing the changes with the preview",
	[CHANGES_STEP_HELPER] = "msp-layers, which ended early",
};

void changes_job_put_problem(const struct changes_job *job, struct buffer *text)
{
	const uint32_t step = job->done.step < CHANGES_STEP_COUNT ? job->done.step : 0;

	if (job->done.error != 0)
		buffer_format(text, "It failed with \"%s\" in %s.",
			      errno_text((int)job->done.error), step_texts[step]);
	if (job->done.error == EROFS)
		buffer_append_text(text, " The msp service may not write there. Ask the user to "
					 "run `msp stop` and `msp apply --standalone`.");
	if (job->done.error == 0 && job->is_broken)
		buffer_append_text(text, "The list of changes is incomplete.");
}

/* Return true for a path inside the workspace, other than the workspace itself. */
static bool is_beneath(const struct json_value *path)
{
	const char *part = path->text;
	const char *end = path->text + path->size;

	if (path->size == 0 || path->size >= IPC_PATH_MAX)
		return false;
	while (part < end) {
		const char *slash = memchr(part, '/', (size_t)(end - part));
		const size_t size = (size_t)((slash ? slash : end) - part);

		if (size == 0 || (size == 1 && part[0] == '.') ||
		    (size == 2 && memcmp(part, "..", 2) == 0))
			return false;
		part = slash ? slash + 1 : end;
	}
	return true;
}

const char *changes_check_paths(const struct json_document *document,
				const struct json_value *paths)
{
	if (paths && paths->count == 0)
		return "The argument `paths` is empty. Leave it out to mean all changes.";
	for (struct json_value *v = json_first(document, paths); v; v = json_next(document, v)) {
		const struct json_value path = path_beneath(v);

		if (!is_beneath(&path))
			return "Each of `paths` must be inside the workspace and relative to it, "
			       "such as \"src/main.c\", without \"..\".";
	}
	return NULL;
}
