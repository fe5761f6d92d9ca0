/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/job.h"

#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_layers.h"
#include "layers/base/files.h"

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
	[LAYERS_SCAN] = { job_scan, NEED_LAYER },
	[LAYERS_DIFF] = { job_diff, NEED_LAYER },
	[LAYERS_PREVIEW] = { job_preview, NEED_HOST | NEED_LAYER },
	[LAYERS_APPLY] = { job_apply, NEED_HOST | NEED_LAYER | NEED_JOURNAL },
	[LAYERS_UNDO] = { job_undo, NEED_HOST | NEED_JOURNAL },
	[LAYERS_RECOVER] = { job_recover, NEED_HOST | NEED_JOURNAL },
	[LAYERS_MERGE] = { job_merge, NEED_LAYER | NEED_TARGET },
	[LAYERS_REMOVE] = { job_remove, NEED_TARGET },
	[LAYERS_PREPARE] = { job_prepare, NEED_HOST | NEED_LAYER },
};

#define FLAGS_KNOWN                                                                                \
	(CHANGES_TEXT | CHANGES_HELD_TOO | CHANGES_FROM_CHECKPOINT | CHANGES_TEXT_HELD |           \
	 CHANGES_IGNORED_TOO | CHANGES_BRANCHES | CHANGES_MARKERS | CHANGES_FILES |                \
	 CHANGES_UMASK | CHANGES_UMASK_BITS)

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

int job_run(struct job *job)
{
	int error;

	if (job->ask->flags & CHANGES_UMASK)
		job->directories.umask = FILES_UMASK_KNOWN | job->ask->flags >> CHANGES_UMASK_SHIFT;
	error = operations[job->ask->operation].run(job);
	const int unwritten = job_flush(job);

	if (!error && unwritten) {
		error = unwritten;
		job->done.step = CHANGES_STEP_OUTPUT;
	}
	job->done.error = (uint32_t)-error;
	return error;
}
