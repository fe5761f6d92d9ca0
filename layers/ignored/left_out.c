/* SPDX-License-Identifier: Apache-2.0 */
#include "left_out.h"

#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_changes.h"
#include "git_index.h"
#include "ignored.h"
#include "layers/base/beneath.h"

static struct {
	struct git_index index;
	bool is_tried, is_known;
} tracked;

static void read_index(const struct job *job)
{
	size_t size;
	char *bytes = NULL;

	tracked.is_tried = true;
	tracked.is_known = beneath_text(job->directories.host, ".git/index", INDEX_BYTES_MAX,
					&bytes, &size) == 0 &&
			   git_index_read(&tracked.index, (const uint8_t *)bytes, size) == 0;
	free(bytes);
}

/* Without an index that can be read, each file that the host has may be tracked. */
static bool may_be_tracked(const struct job *job, const char *path)
{
	if (!tracked.is_tried)
		read_index(job);
	return !tracked.is_known || git_index_has(&tracked.index, path);
}

/* Would git not show this path, with these files there? */
static bool is_hidden(const struct job *job, const char *path, const struct stat *now,
		      const struct stat *old)
{
	if (!ignored_is(job, IGNORED_BY_ALL, path, S_ISDIR(now->st_mode) || S_ISDIR(old->st_mode)))
		return false;
	return old->st_mode == 0 || !may_be_tracked(job, path);
}

/* An exclusion is above no path, and so chooses none. */
static bool is_chosen_by_name(const struct job *job, const char *path)
{
	for (size_t at = 0; at < job->chosen_size; at += strlen(job->chosen + at) + 1) {
		const char *chosen = job->chosen + at;

		if (job_is_in(path, chosen) && ignored_is(job, IGNORED_BY_ALL, chosen, true))
			return true;
	}
	return false;
}

bool left_out(struct job *job, const struct difference *difference)
{
	static const struct stat none;
	const bool is_moved = difference->old_path[0] != '\0';
	const struct stat *old = is_moved ? &none : &difference->old;

	if ((job->ask->flags & CHANGES_IGNORED_TOO) || !job_is_chosen(job, difference->path) ||
	    !is_hidden(job, difference->path, &difference->now, old) ||
	    (is_moved && !is_hidden(job, difference->old_path, &none, &difference->old)) ||
	    is_chosen_by_name(job, difference->path))
		return false;
	job->done.ignored += !S_ISDIR(difference->now.st_mode ? difference->now.st_mode
							      : difference->old.st_mode);
	return true;
}
