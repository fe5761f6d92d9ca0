/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>

#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_layers.h"
#include "common/records/changes.h"
#include "layers/base/base.h"
#include "layers/base/beneath.h"
#include "layers/base/files.h"
#include "layers/base/job.h"
#include "layers/branches/commits.h"
#include "layers/branches/committed.h"
#include "layers/changes/commits_state.h"
#include "layers/changes/digest.h"
#include "layers/changes/patch.h"
#include "layers/ignored/left_out.h"
#include "layers/merger/threeway.h"

struct telling {
	struct job *job;
	struct patch patch;
	enum changes_step step;
	struct sha256 *digest; /* NULL: nobody asks for it */
	bool has_refs;         /* commits_find() was before the list */
};

static uint32_t more_flags(struct job *job, const struct difference *difference, bool is_committed)
{
	const uint32_t flags = digest_flags(job, difference);

	if (is_committed)
		return flags;
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

/* Show more of a change than its record. */
static int look_closer(struct telling *telling, const struct difference *difference,
		       struct difference *shown, char link[IPC_PATH_MAX])
{
	struct job *job = telling->job;
	struct patch *patch = &telling->patch;
	const uint32_t flags = job->ask->flags;
	int size;
	int error;

	patch->size = 0;
	patch->has_hash = false;
	if (S_ISLNK(difference->now.st_mode)) {
		size = tree_link(&job->directories, difference, false, link);
		if (size < 0)
			shown->flags |= CHANGE_IS_UNREADABLE;
		else
			files_hash((const uint8_t *)link, (size_t)size, patch->hash);
		patch->has_hash = size >= 0;
	}
	if (shown->flags & CHANGE_IS_GITS)
		return 0;
	if (!(flags & CHANGES_TEXT) &&
	    !((flags & CHANGES_TEXT_HELD) && (shown->flags & CHANGE_IS_HELD)))
		return 0;
	error = patch_make(&job->directories, difference, patch);
	shown->flags |= patch->flags;
	return error;
}

static int tell_one(void *context, const struct difference *difference)
{
	struct telling *telling = context;
	struct job *job = telling->job;
	const struct patch *patch = &telling->patch;
	struct difference shown;
	char link[IPC_PATH_MAX] = "";
	const enum commits_fate fate = commits_judge(difference);
	uint32_t flags;
	bool is_shown, is_committed;
	int error;

	if (fate == COMMITS_DATA ||
	    (!job_is_chosen(job, difference->path) &&
	     !(difference->old_path[0] && job_is_chosen(job, difference->old_path))))
		return 0;
	shown = *difference;
	shown.base = base_check(&job->directories, difference);
	if (shown.base == BASE_UNTOUCHED || left_out(job, difference))
		return 0;
	is_committed = telling->digest && committed_has(job, difference);
	shown.flags |=
		fate == COMMITS_STAYS ? CHANGE_IS_GITS : more_flags(job, &shown, is_committed);
	flags = shown.flags;
	if (is_committed)
		shown.flags = difference->flags | CHANGE_IS_COMMITTED;
	else
		threeway_preview(job, &shown);
	job->done.total++;
	is_shown = is_on_page(job);
	error = commits.error; /* the reader may have ended, asked to merge */
	if (!error && is_shown)
		error = look_closer(telling, difference, &shown, link);
	if (error)
		return error;
	if (telling->digest)
		digest_add(telling->digest, &job->directories, difference, flags,
			   is_shown && patch->has_hash ? patch->hash : NULL);
	if (!is_shown)
		return 0;
	error = job_tell(job, &shown, link, patch->bytes, patch->size);
	if (error)
		telling->step = CHANGES_STEP_OUTPUT;
	return error;
}

static int tell_refs(struct telling *telling)
{
	static struct difference difference;
	struct job *job = telling->job;
	char text[IPC_PATH_MAX];
	int error = telling->has_refs ? 0 : commits_find(job);

	for (size_t i = 0; i < commits.ref_count && !error; i++) {
		commits_show(i, &difference, text);
		job->done.held += (difference.flags & CHANGE_IS_HELD) != 0;
		job->done.conflicts += (difference.flags & CHANGE_IS_CONFLICT) != 0;
		job->done.total++;
		if (!is_on_page(job))
			continue;
		error = job_tell(job, &difference, text, NULL, 0);
		telling->step = error ? CHANGES_STEP_OUTPUT : telling->step;
	}
	if (!error && telling->digest)
		commits_add_to_digest(&job->directories, telling->digest);
	commits_end();
	return error;
}

/* Return whether a layer has something of git's by which the sandbox's commits could differ. */
static bool may_have_commits(const struct job *job)
{
	static const char *const names[] = { "/.git/refs", "/.git/HEAD", "/.git/packed-refs" };
	char path[64];
	struct stat status;

	for (uint32_t i = 0; i < job->directories.layer_count; i++) {
		for (size_t name = 0; name < sizeof(names) / sizeof(names[0]); name++) {
			(void)snprintf(path, sizeof(path), WORKSPACE_NAME "%s", names[name]);
			if (beneath_look(job->directories.layers[i], path, &status) != 0 ||
			    status.st_mode != 0)
				return true;
		}
	}
	return false;
}

static int note_commits(void *context, const struct difference *difference)
{
	(void)context;
	(void)commits_judge(difference); /* it remembers refs */
	return 0;
}

/* Find the commits before the list, whose rows say what comes with them. */
static int find_commits(struct telling *telling)
{
	struct job *job = telling->job;
	int error = tree_compare(&job->directories, note_commits, NULL);

	telling->has_refs = true;
	commits.stays[0] = '\0'; /* the list begins again */
	if (!error)
		error = commits_find(job);
	return error ? error : committed_find(job);
}

static int list_changes(struct job *job, struct sha256 *digest)
{
	struct telling telling = { .job = job, .step = CHANGES_STEP_READ, .digest = digest };
	int error = digest && may_have_commits(job) ? find_commits(&telling) : 0;

	if (!error)
		error = tree_compare(&job->directories, tell_one, &telling);
	if (!error)
		error = tell_refs(&telling);
	patch_free(&telling.patch);
	job->done.step = error ? telling.step : CHANGES_STEP_NONE;
	return error;
}

int job_diff(struct job *job)
{
	return list_changes(job, NULL);
}

/* List the changes; the rows say which an apply would take over, and why it would not. */
int job_preview(struct job *job)
{
	struct sha256 digest;
	int error;

	sha256_begin(&digest);
	error = list_changes(job, &digest);
	if (!error)
		sha256_end(&digest, job->done.digest);
	return error;
}
