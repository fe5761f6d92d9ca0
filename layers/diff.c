/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base.h"
#include "common/changes.h"
#include "held.h"
#include "job.h"
#include "patch.h"

struct telling {
	struct job *job;
	struct patch patch;
	enum changes_step step;
};

static uint32_t more_flags(struct job *job, const struct difference *difference)
{
	uint32_t flags = 0;

	if (held_is(job, difference))
		flags |= CHANGE_IS_HELD;
	/* An earlier state is nobody's to be in conflict with. */
	if (job->directories.since_count == 0 &&
	    base_check(&job->directories, difference) == BASE_CHANGED)
		flags |= CHANGE_IS_CONFLICT;
	job->done.held += (flags & CHANGE_IS_HELD) != 0;
	job->done.conflicts += (flags & CHANGE_IS_CONFLICT) != 0;
	return flags;
}

static bool is_on_page(const struct job *job)
{
	const struct ipc_layers_do *ask = job->ask;
	const uint64_t number = job->done.total - 1;

	return number >= ask->skip && (ask->most == 0 || number - ask->skip < ask->most);
}

static int tell_one(void *context, const struct difference *difference)
{
	struct telling *telling = context;
	struct job *job = telling->job;
	struct difference shown;
	char link[IPC_PATH_MAX] = "";
	int error = 0;

	if (!job_is_chosen(job, difference->path) &&
	    !(difference->old_path[0] && job_is_chosen(job, difference->old_path)))
		return 0;
	shown = *difference;
	shown.flags |= more_flags(job, difference);
	job->done.total++;
	if (!is_on_page(job))
		return 0;
	if (S_ISLNK(difference->now.st_mode) &&
	    tree_link_now(&job->directories, difference, link) < 0)
		shown.flags |= CHANGE_IS_UNREADABLE;
	telling->patch.size = 0;
	if (job->ask->flags & CHANGES_TEXT) {
		error = patch_make(&job->directories, difference, &telling->patch);
		if (error)
			return error;
		shown.flags |= telling->patch.flags;
	}
	error = job_tell(job, &shown, link, telling->patch.bytes, telling->patch.size);
	if (error)
		telling->step = CHANGES_STEP_OUTPUT;
	return error;
}

static int list(struct job *job)
{
	struct telling telling = { .job = job, .step = CHANGES_STEP_READ };
	const int error = tree_compare(&job->directories, tell_one, &telling);

	patch_free(&telling.patch);
	job->done.error = (uint32_t)-error;
	job->done.step = error ? telling.step : CHANGES_STEP_NONE;
	return error;
}

int job_diff(struct job *job)
{
	return list(job);
}

/* What an apply would take over, and what it would not and why, stands in the same rows. */
int job_preview(struct job *job)
{
	return list(job);
}
