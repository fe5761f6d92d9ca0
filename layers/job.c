/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

#include <errno.h>
#include <string.h>

#include "common/changes.h"
#include "common/fd.h"

enum need {
	NEED_HOST = 1,
	NEED_LAYER = 2,
	NEED_JOURNAL = 4,
	NEED_TARGET = 8,
};

static const struct {
	int (*run)(struct job *job);
	uint32_t needs;
} operations[LAYERS_OPERATION_COUNT] = {
	[LAYERS_NOTE] = { job_note, NEED_LAYER },
	[LAYERS_DIFF] = { job_diff, NEED_LAYER },
	[LAYERS_PREVIEW] = { job_preview, NEED_HOST | NEED_LAYER },
	[LAYERS_APPLY] = { job_apply, NEED_HOST | NEED_LAYER | NEED_JOURNAL },
	[LAYERS_UNDO] = { job_undo, NEED_HOST | NEED_JOURNAL },
	[LAYERS_RECOVER] = { job_recover, NEED_HOST | NEED_JOURNAL },
	[LAYERS_MERGE] = { job_merge, NEED_LAYER | NEED_TARGET },
	[LAYERS_REMOVE] = { job_remove, NEED_TARGET },
};

#define FLAGS_KNOWN (CHANGES_TEXT | CHANGES_HELD_TOO | CHANGES_FROM_CHECKPOINT | CHANGES_TEXT_HELD)

/* Paths or patterns with a NUL after each, none empty. */
static bool is_list(const char *bytes, size_t size)
{
	if (size == 0)
		return true;
	if (bytes[0] == '\0' || bytes[size - 1] != '\0')
		return false;
	for (size_t i = 1; i < size; i++) {
		if (bytes[i] == '\0' && bytes[i - 1] == '\0')
			return false;
	}
	return true;
}

bool job_is_right(const struct job *job)
{
	const struct ipc_layers_do *ask = job->ask;
	const struct job_directories *directories = &job->directories;
	uint32_t has = 0;

	has |= directories->host >= 0 ? NEED_HOST : 0;
	has |= directories->layer_count > 0 ? NEED_LAYER : 0;
	has |= directories->journal >= 0 ? NEED_JOURNAL : 0;
	has |= directories->target >= 0 ? NEED_TARGET : 0;
	return ask->operation > 0 && ask->operation < LAYERS_OPERATION_COUNT &&
	       ask->conflict < CONFLICT_COUNT && (ask->flags & ~(uint32_t)FLAGS_KNOWN) == 0 &&
	       (operations[ask->operation].needs & ~has) == 0 &&
	       is_list((const char *)ask->held, ask->held_size) &&
	       is_list(job->chosen, job->chosen_size) && is_list(job->named, job->named_size);
}

static int flush(struct job *job)
{
	const size_t size = job->buffered;

	job->buffered = 0;
	return size > 0 ? fd_write_all(job->output, job->buffer, size) : 0;
}

int job_run(struct job *job)
{
	const int error = operations[job->ask->operation].run(job);
	const int unwritten = flush(job);

	if (error || !unwritten)
		return error;
	job->done.error = (uint32_t)-unwritten;
	job->done.step = CHANGES_STEP_OUTPUT;
	return unwritten;
}

bool job_is_chosen(const struct job *job, const char *path)
{
	if (job->chosen_size == 0)
		return true;
	for (size_t at = 0; at < job->chosen_size;) {
		const char *chosen = job->chosen + at;
		const size_t whole = strlen(chosen);
		size_t size = whole;

		while (size > 0 && chosen[size - 1] == '/')
			size--;
		if ((size == 1 && chosen[0] == '.') ||
		    (strncmp(path, chosen, size) == 0 && (path[size] == '\0' || path[size] == '/')))
			return true;
		at += whole + 1;
	}
	return false;
}

static uint64_t size_of(const struct stat *status)
{
	return S_ISREG(status->st_mode) && status->st_size > 0 ? (uint64_t)status->st_size : 0;
}

/* A reader that is waked for each record takes longer than the work. */
static int put(struct job *job, const uint8_t *bytes, size_t size)
{
	if (job->buffer && JOB_BUFFER_BYTES - job->buffered < size) {
		const int error = flush(job);

		if (error)
			return error;
	}
	if (!job->buffer || size > JOB_BUFFER_BYTES)
		return fd_write_all(job->output, bytes, size);
	memcpy(job->buffer + job->buffered, bytes, size);
	job->buffered += size;
	return 0;
}

int job_tell(struct job *job, const struct difference *difference, const char *link,
	     const uint8_t *patch, size_t patch_size)
{
	static uint8_t bytes[sizeof(struct change_record) + (size_t)3 * IPC_PATH_MAX];
	const char *const texts[] = { difference->path, difference->old_path, link ? link : "" };
	const struct change_record record = {
		.kind = difference->kind,
		.flags = difference->flags,
		.old_mode = difference->old.st_mode,
		.new_mode = difference->now.st_mode,
		.old_size = size_of(&difference->old),
		.new_size = size_of(&difference->now),
		.path_size = (uint32_t)strlen(texts[0]),
		.old_path_size = (uint32_t)strlen(texts[1]),
		.link_size = (uint32_t)strlen(texts[2]),
		.patch_size = (uint32_t)patch_size,
	};
	size_t used = sizeof(record);
	int error;

	job->done.told++;
	if (job->output < 0)
		return 0;
	memcpy(bytes, &record, sizeof(record));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const size_t size = strnlen(texts[i], IPC_PATH_MAX - 1);

		memcpy(bytes + used, texts[i], size);
		used += size;
	}
	error = put(job, bytes, used);
	if (!error && patch_size > 0)
		error = put(job, patch, patch_size);
	return error;
}
