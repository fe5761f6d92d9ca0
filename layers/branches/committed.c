/* SPDX-License-Identifier: Apache-2.0 */
#include "committed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_changes.h"
#include "common/records/changes.h"
#include "layers/base/beneath.h"
#include "layers/reader/tree_names.h"
#include "lib/heap/grow.h"
#include "state.h"

int committed_find(const struct job *job)
{
	uint8_t head[OBJECT_ID_BYTES], bases[2][OBJECT_ID_BYTES];
	struct changed_files *files = &branches.committed;
	int error;

	if (commits.change_count == 0 || (job->ask->flags & CHANGES_FILES) || job_names_paths(job))
		return 0;
	error = commits_head(job, head);
	if (!error) {
		branches_bases(job, "HEAD", bases);
		if (memcmp(head, bases[1], sizeof(head)) != 0)
			error = branches_compare(head, bases[1], files);
	}
	if (error) { /* without an answer, all changes come as files */
		list_free(files->all, files->count, sizeof(*files->all));
		*files = (struct changed_files){ 0 };
	}
	return error == -ENOMEM ? error : commits.error;
}

/* Return the first path of the commit that is not before this one. */
static size_t find_first(const char *path)
{
	size_t low = 0;

	for (size_t high = branches.committed.count; low < high;) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(branches.committed.all[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct reader_file *find_file(const char *path)
{
	const size_t at = find_first(path);

	return at < branches.committed.count && strcmp(branches.committed.all[at].path, path) == 0
		       ? &branches.committed.all[at].file
		       : NULL;
}

static bool has_below(const char *path)
{
	char above[IPC_PATH_MAX + 1];
	size_t at;

	(void)snprintf(above, sizeof(above), "%s/", path);
	at = find_first(above);
	return at < branches.committed.count &&
	       branches_is_below(branches.committed.all[at].path, path);
}

static bool is_same_link(const struct job *job, const struct difference *difference,
			 const struct reader_file *file)
{
	char target[IPC_PATH_MAX];
	const int size = tree_link(&job->directories, difference, false, target);

	return size >= 0 && file->new_mode == TREE_LINK &&
	       branches_is_blob(file->new_id, target, (size_t)size);
}

static bool is_same_file(const struct job *job, const struct difference *difference,
			 const struct reader_file *file)
{
	const uint32_t mode = difference->now.st_mode & S_IXUSR ? TREE_PROGRAM : TREE_FILE;
	char *text;
	size_t size;
	bool is_same;

	if (file->new_mode != mode ||
	    beneath_text_of(tree_open(&job->directories, difference, false), OBJECT_BYTES_MAX,
			    &text, &size) != 0)
		return false;
	is_same = branches_is_blob(file->new_id, text, size);
	free(text);
	return is_same;
}

bool committed_has(const struct job *job, const struct difference *difference)
{
	const mode_t now = difference->now.st_mode;
	const struct reader_file *file, *from;

	if (branches.committed.count == 0)
		return false;
	if (difference->kind == CHANGE_ADDED
		    ? S_ISDIR(now)
		    : difference->kind == CHANGE_DELETED && S_ISDIR(difference->old.st_mode))
		return has_below(difference->path);
	file = find_file(difference->path);
	from = difference->old_path[0] ? find_file(difference->old_path) : NULL;
	if (!file || (difference->old_path[0] && !(from && from->new_mode == 0)))
		return false;
	if (S_ISLNK(now))
		return is_same_link(job, difference, file);
	return S_ISREG(now) ? is_same_file(job, difference, file) : now == 0 && file->new_mode == 0;
}
