/* SPDX-License-Identifier: Apache-2.0 */
#include "threeway.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/records/changes.h"
#include "layers/base/base.h"
#include "layers/base/files.h"
#include "layers/base/held.h"
#include "layers/changes/commits_state.h"
#include "layers/changes/patch.h"

/* One merge: both sides in a row, as the reader wants them, and its result. */
struct merge {
	uint8_t *sides;
	size_t host_size, size;
	uint8_t *bytes; /* NULL: there is no result */
	size_t bytes_size;
	bool has_markers;
};

static void free_merge(struct merge *merge)
{
	free(merge->sides);
	free(merge->bytes);
}

/* Read one side and judge it. Return the reason why it cannot be merged. */
static uint32_t read_side(const struct job *job, const struct difference *difference, bool is_old,
			  struct merge *merge)
{
	int file = tree_open(&job->directories, difference, is_old);
	uint8_t *bytes = NULL, *grown;
	size_t size = 0;
	uint32_t flags = 0;
	int error = file < 0 ? file : patch_read(file, &bytes, &size);

	fd_close(&file);
	grown = error ? NULL : realloc(merge->sides, merge->size + size + 1);
	if (grown) {
		flags = patch_judge(bytes, size);
		memcpy(grown + merge->size, bytes, size);
		merge->sides = grown;
		merge->size += size;
	}
	free(bytes);
	if (!grown)
		return UNMERGED_KIND;
	return flags & CHANGE_IS_BINARY ? UNMERGED_BINARY : flags ? UNMERGED_LARGE : 0;
}

static uint32_t read_sides(const struct job *job, const struct difference *difference,
			   struct merge *merge)
{
	uint32_t reason = read_side(job, difference, true, merge);

	merge->host_size = merge->size;
	return reason ? reason : read_side(job, difference, false, merge);
}

static int hear_merged(void *context, const struct reader_tell *tell, const uint8_t *bytes)
{
	struct merge *merge = context;

	if (tell->kind != READER_MERGED || merge->bytes)
		return -EPROTO;
	merge->bytes = malloc((size_t)tell->size + 1);
	if (!merge->bytes)
		return -ENOMEM;
	memcpy(merge->bytes, bytes, tell->size);
	merge->bytes_size = tell->size;
	merge->has_markers = tell->count > 0;
	return 0;
}

/* Have the reader merge. The result is bytes that a workload may have chosen, like all of its
 * files. */
static uint32_t ask_reader(const struct job *job, const struct difference *difference,
			   struct merge *merge)
{
	static struct reader_ask ask;
	struct base_record base;
	int error;

	if (!base_find(&job->directories, difference->path, &base) || base.kind != BASE_FILE ||
	    commits.requests < 0)
		return UNMERGED_BASE;
	ask = (struct reader_ask){ .kind = READER_MERGE,
				   .host_size = (uint32_t)merge->host_size,
				   .body_size = (uint32_t)merge->size,
				   .base_size = base.length };
	memcpy(ask.base, base.hash, sizeof(ask.base));
	(void)snprintf(ask.path, sizeof(ask.path), "%s", difference->path);
	error = commits_ask(&ask, merge->sides, hear_merged, merge, NULL);
	if (error == -EBADMSG)
		return UNMERGED_BINARY;
	return error || !merge->bytes ? UNMERGED_BASE : 0;
}

/* Return why a difference is none of two texts with one name and the same permissions. */
static uint32_t check_kind(const struct job *job, const struct difference *difference)
{
	if (difference->kind != CHANGE_MODIFIED || (difference->flags & CHANGE_IS_UNREADABLE) ||
	    !S_ISREG(difference->old.st_mode) || !S_ISREG(difference->now.st_mode))
		return UNMERGED_KIND;
	if (difference->old.st_mode != difference->now.st_mode)
		return UNMERGED_MODE;
	/* A person agrees to the bytes that were shown, which are not those of a merge. */
	return held_is(job, difference) ? UNMERGED_HELD : 0;
}

static uint32_t merge_sides(const struct job *job, const struct difference *difference,
			    struct merge *merge)
{
	uint32_t reason = check_kind(job, difference);

	if (!reason)
		reason = read_sides(job, difference, merge);
	return reason ? reason : ask_reader(job, difference, merge);
}

uint32_t threeway_judge(const struct job *job, const struct difference *difference,
			uint32_t *ret_unmerged)
{
	const bool may_have_markers = (job->ask->flags & CHANGES_MARKERS) != 0;
	struct merge merge = { 0 };

	*ret_unmerged = 0;
	if (job->ask->conflict != CONFLICT_MERGE)
		return CHANGE_IS_CONFLICT;
	*ret_unmerged = merge_sides(job, difference, &merge);
	if (!*ret_unmerged && merge.has_markers && !may_have_markers)
		*ret_unmerged = UNMERGED_LINES;
	free_merge(&merge);
	if (*ret_unmerged)
		return CHANGE_IS_CONFLICT;
	return CHANGE_IS_MERGED | (merge.has_markers ? CHANGE_HAS_MARKERS : 0);
}

void threeway_preview(struct job *job, struct difference *shown)
{
	uint32_t flags;

	if (!(shown->flags & CHANGE_IS_CONFLICT))
		return;
	flags = threeway_judge(job, shown, &shown->unmerged);
	if (flags & CHANGE_IS_CONFLICT)
		return;
	shown->flags = (shown->flags & ~(uint32_t)CHANGE_IS_CONFLICT) | flags;
	job->done.conflicts--;
}

int threeway_open(const struct job *job, const struct difference *difference,
		  const uint8_t host_hash[SHA256_BYTES])
{
	struct merge merge = { 0 };
	uint8_t hash[SHA256_BYTES];
	int file = -ESTALE;

	if (merge_sides(job, difference, &merge) == 0 &&
	    merge.has_markers == ((difference->flags & CHANGE_HAS_MARKERS) != 0)) {
		files_hash(merge.sides, merge.host_size, hash);
		if (memcmp(hash, host_hash, sizeof(hash)) == 0)
			file = files_from_bytes(merge.bytes, merge.bytes_size);
	}
	free_merge(&merge);
	return file < 0 && commits.error ? commits.error : file;
}
