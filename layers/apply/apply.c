/* SPDX-License-Identifier: Apache-2.0
 *
 * The differences between the sandbox's workspace and the host's become entries of a journal: those
 * that are chosen, confirmed where the host may execute them, and no conflict. A new directory
 * comes along with what is chosen in it.
 */
#include "layers/apply/apply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/records/changes.h"
#include "layers/base/base.h"
#include "layers/base/beneath.h"
#include "layers/base/files.h"
#include "layers/base/held.h"
#include "layers/base/items.h"
#include "layers/base/progress.h"
#include "layers/branches/branches.h"
#include "layers/branches/commits.h"
#include "layers/branches/committed.h"
#include "layers/changes/commits_state.h"
#include "layers/changes/digest.h"
#include "layers/ignored/left_out.h"
#include "layers/merger/threeway.h"

enum fate { FATE_OUT /* not chosen */, FATE_LEFT, FATE_TAKEN };

struct gathering {
	struct job *job;
	struct items items; /* all differences, in the order of their paths */
	struct items olds;  /* old paths of the renamed ones */
	uint8_t *fates;     /* enum fate of each, and behind them of the refs */
	uint32_t *ref_flags;
	struct journal journal;
};

/* Entries beyond the items are numbered: refs, then objects, files of branches, directories. */
static size_t number_of_ref(const struct gathering *gathering, size_t ref)
{
	return gathering->items.count + ref;
}

static size_t number_of_object(const struct gathering *gathering, size_t object)
{
	return gathering->items.count + commits.ref_count + object;
}

static int keep_one(void *context, const struct difference *difference)
{
	struct gathering *gathering = context;
	const enum commits_fate fate = commits_judge(difference);
	struct item *item, *old;
	enum base_state base;

	if (fate == COMMITS_DATA)
		return 0;
	base = base_check(&gathering->job->directories, difference);
	if (base == BASE_UNTOUCHED)
		return 0;
	if (left_out(gathering->job, difference)) {
		branches_note_left(gathering->job, difference->path);
		return 0;
	}
	item = old = items_add(&gathering->items, difference->path);
	if (item && difference->kind == CHANGE_RENAMED) {
		old = items_add(&gathering->olds, difference->old_path);
		item->from = old;
	}
	if (!item || !old)
		return -ENOMEM;
	if (journal_check_path(item->path) != 0 || journal_check_path(old->path) != 0)
		return -EBADMSG;
	item->kind = difference->kind;
	item->flags = difference->flags | (base_flags(difference, base) & CHANGE_IS_REFUSED) |
		      (fate == COMMITS_STAYS ? CHANGE_IS_GITS : 0);
	item->base = base;
	item->layer = (int16_t)difference->layer;
	item->now = difference->now;
	old->old_layer = (int16_t)difference->old_layer;
	old->old = difference->old;
	return 0;
}

/* The item of the first `size` bytes of a path; items.count: there is none. */
static size_t find_item(const struct gathering *gathering, const char *path, size_t size)
{
	size_t low = 0;

	for (size_t high = gathering->items.count; low < high;) {
		const size_t middle = low + (high - low) / 2;
		const char *there = gathering->items.all[middle]->path;
		const int order = strncmp(there, path, size);

		if (order == 0 && there[size] == '\0')
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return gathering->items.count;
}

static bool is_new_directory(const struct item *item)
{
	return S_ISDIR(item->now.st_mode) && !S_ISDIR(item->old.st_mode);
}

static bool is_chosen(const struct gathering *gathering, const struct item *item)
{
	return job_is_chosen(gathering->job, item->path) ||
	       (item->from && job_is_chosen(gathering->job, item->from->path));
}

/* Why a difference stays out, as a flag; 0: it is taken, as it is also if it is merged. */
static uint32_t reason_of(const struct gathering *gathering, struct item *item)
{
	static struct difference difference;
	const struct job *job = gathering->job;
	const uint32_t never = item->flags & (CHANGE_IS_REFUSED | CHANGE_IS_GITS);

	if (never)
		return never;
	if (item->flags & CHANGE_IS_UNREADABLE)
		return CHANGE_IS_CONFLICT; /* it is unknown */
	items_show(item, &difference);
	if (committed_has(job, &difference))
		return CHANGE_IS_COMMITTED;
	if (held_is(job, &difference) && !(job->ask->flags & CHANGES_HELD_TOO))
		return CHANGE_IS_HELD;
	return item->base == BASE_SAME ? 0 : threeway_judge(job, &difference, &item->unmerged);
}

/* A conflict that the sandbox's side wins is taken, and called one all the same. */
static void decide_fate(struct gathering *gathering, size_t number)
{
	struct item *item = gathering->items.all[number];
	struct job *job = gathering->job;
	const uint32_t reason = reason_of(gathering, item);

	item->flags |= reason;
	job->done.held += reason == CHANGE_IS_HELD;
	job->done.conflicts += reason == CHANGE_IS_CONFLICT;
	gathering->fates[number] = reason == 0 || (reason & CHANGE_IS_MERGED) ||
						   (reason == CHANGE_IS_CONFLICT &&
						    job->ask->conflict == CONFLICT_SANDBOX)
					   ? FATE_TAKEN
					   : FATE_LEFT;
}

/* Take a new directory that comes with a commit, if something in it does not. */
static void restore_directory(struct gathering *gathering, size_t directory, size_t number)
{
	static struct difference difference;
	struct item *item = gathering->items.all[directory];

	items_show(gathering->items.all[number], &difference);
	if ((item->flags & CHANGE_IS_COMMITTED) && !committed_has(gathering->job, &difference)) {
		item->flags &= ~(uint32_t)CHANGE_IS_COMMITTED;
		gathering->fates[directory] = FATE_TAKEN;
	}
}

/* A chosen difference, after the new directories that it is in. */
static void choose_item(struct gathering *gathering, size_t number)
{
	struct item *item = gathering->items.all[number];

	for (const char *slash = strchr(item->path, '/'); slash; slash = strchr(slash + 1, '/')) {
		const size_t above = find_item(gathering, item->path, (size_t)(slash - item->path));

		if (above == gathering->items.count ||
		    !is_new_directory(gathering->items.all[above]))
			continue;
		if (gathering->fates[above] == FATE_OUT)
			decide_fate(gathering, above);
		restore_directory(gathering, above, number);
		if (gathering->fates[above] == FATE_LEFT) {
			item->flags |= gathering->items.all[above]->flags &
				       (CHANGE_IS_CONFLICT | CHANGE_IS_HELD | CHANGE_IS_COMMITTED);
			gathering->fates[number] = FATE_LEFT;
			return;
		}
	}
	if (gathering->fates[number] == FATE_OUT)
		decide_fate(gathering, number);
}

static int add_item(struct gathering *gathering, size_t number, const char *path,
		    const struct stat *from, const struct stat *to)
{
	struct journal_entry *entry = apply_enter(&gathering->journal, path, from, number);

	if (!entry)
		return -ENOMEM;
	entry->is_merged = (gathering->items.all[number]->flags & CHANGE_IS_MERGED) != 0;
	if (gathering->items.all[number]->kind == CHANGE_MODE)
		entry->to = entry->from; /* it stays in its place */
	entry->to.mode = to->st_mode & (S_IFMT | 0777U);
	return 0;
}

static int enter_taken(struct gathering *gathering)
{
	static const struct stat nothing;
	int error = 0;

	for (size_t i = 0; i < gathering->items.count && error == 0; i++) {
		const struct item *item = gathering->items.all[i];

		if (gathering->fates[i] != FATE_TAKEN)
			continue;
		if (item->from)
			error = add_item(gathering, i, item->from->path, &item->from->old,
					 &nothing);
		if (error == 0)
			error = add_item(gathering, i, item->path,
					 item->from ? &nothing : &item->old, &item->now);
	}
	return error;
}

/* --- commits ---------------------------------------------------------------------------------- */

static enum branches_item look_at_item(void *context, const char *path, int *ret_file)
{
	const struct gathering *gathering = context;
	const size_t number = find_item(gathering, path, strlen(path));

	if (number < gathering->items.count && ret_file)
		*ret_file = items_open(&gathering->job->directories, gathering->items.all[number]);
	return number == gathering->items.count         ? BRANCHES_AGREED
	       : gathering->fates[number] == FATE_TAKEN ? BRANCHES_APPLIED
							: BRANCHES_STAYS;
}

/* Decide on every ref, and fetch what the taken ones need. */
static int choose_refs(struct gathering *gathering)
{
	static struct difference difference;
	char text[IPC_PATH_MAX];
	struct job *job = gathering->job;
	const struct branches_apply apply = { look_at_item, held_entry_flags, gathering };
	int error = commits.error; /* the reader may have ended, asked to merge */

	for (size_t i = 0; i < commits.ref_count && !error; i++) {
		branches_follow(job, i, &apply);
		commits_show(i, &difference, text);
		gathering->ref_flags[i] = difference.flags;
		job->done.held += (difference.flags & CHANGE_IS_HELD) != 0;
		job->done.conflicts += (difference.flags & CHANGE_IS_CONFLICT) != 0;
		gathering->fates[number_of_ref(gathering, i)] = FATE_LEFT;
		if ((difference.flags & (CHANGE_IS_GITS | CHANGE_IS_CONFLICT)) ||
		    ((difference.flags & CHANGE_IS_HELD) && !(job->ask->flags & CHANGES_HELD_TOO)))
			continue;
		gathering->fates[number_of_ref(gathering, i)] = FATE_TAKEN;
		error = commits_bring(i);
	}
	return error;
}

/* Directories in .git that the host does not have yet. */
static int enter_directories(struct gathering *gathering, const char *path)
{
	const struct job *job = gathering->job;
	char above[IPC_PATH_MAX];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		const size_t size = (size_t)(slash - path);
		struct journal_entry *entry;
		struct stat status;
		int error;

		memcpy(above, path, size);
		above[size] = '\0';
		error = beneath_look(job->directories.host, above, &status);
		if (error)
			return error;
		if (status.st_mode != 0 || journal_has(&gathering->journal, above))
			continue;
		entry = apply_enter(&gathering->journal, above, &status, SIZE_MAX);
		if (!entry)
			return -ENOMEM;
		entry->to.mode = S_IFDIR | commits.mode;
	}
	return 0;
}

static int enter_file(struct gathering *gathering, const char *path, const struct stat *old,
		      uint32_t mode, size_t number)
{
	struct journal_entry *entry;
	const int error = enter_directories(gathering, path);

	if (error)
		return error;
	entry = apply_enter(&gathering->journal, path, old, number);
	if (!entry)
		return -ENOMEM;
	entry->to.mode = S_IFREG | (old->st_mode ? old->st_mode & 0777 : mode);
	return 0;
}

/* Objects are added, never replaced: one that is there already is the host's. */
static int enter_objects(struct gathering *gathering)
{
	static const struct stat nothing;
	char path[IPC_PATH_MAX];
	int error = 0;

	for (size_t i = 0; i < commits.object_count && !error; i++) {
		struct stat status;

		commits_object_path(i, path);
		error = beneath_look(gathering->job->directories.host, path, &status);
		if (!error && status.st_mode == 0)
			error = enter_file(gathering, path, &nothing, 0444,
					   number_of_object(gathering, i));
	}
	return error;
}

static int enter_commits(struct gathering *gathering)
{
	static struct difference difference;
	char text[IPC_PATH_MAX];
	int error = enter_objects(gathering);

	for (size_t i = 0; i < commits.ref_count && !error; i++) {
		if (gathering->fates[number_of_ref(gathering, i)] != FATE_TAKEN)
			continue;
		commits_show(i, &difference, text);
		error = enter_file(gathering, difference.path, &difference.old, 0644,
				   number_of_ref(gathering, i));
	}
	for (size_t i = 0; i < branches_file_count() && !error; i++) {
		const struct branches_file *file = branches_file(i);

		if (gathering->fates[number_of_ref(gathering, file->ref)] == FATE_TAKEN)
			error = enter_file(gathering, file->path, &file->old, 0644,
					   number_of_object(gathering, commits.object_count + i));
	}
	return error;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Is it what was agreed to? */
static bool is_expected(const struct gathering *gathering)
{
	const struct job *job = gathering->job;
	uint8_t found[IPC_DIGEST_BYTES];
	struct sha256 digest;

	if (files_is_zero(job->ask->expected, sizeof(job->ask->expected)))
		return true;
	sha256_begin(&digest);
	for (size_t i = 0; i < gathering->items.count; i++) {
		static struct difference difference;

		progress_note(CHANGE_STAGE_READ, i, gathering->items.count);
		if (!is_chosen(gathering, gathering->items.all[i]))
			continue;
		items_show(gathering->items.all[i], &difference);
		digest_add(&digest, &job->directories, &difference,
			   difference.flags | (difference.flags & CHANGE_IS_GITS
						       ? 0
						       : digest_flags(job, &difference)),
			   NULL);
	}
	commits_add_to_digest(&job->directories, &digest);
	sha256_end(&digest, found);
	return memcmp(found, job->ask->expected, sizeof(found)) == 0;
}

static int gather_items(struct gathering *gathering)
{
	int error = tree_compare(&gathering->job->directories, keep_one, gathering);

	if (error)
		return error;
	items_sort(&gathering->items);
	error = commits_find(gathering->job);
	if (!error)
		error = committed_find(gathering->job);
	if (error)
		return error;
	gathering->fates = calloc(number_of_object(gathering, 0) + 1, sizeof(*gathering->fates));
	gathering->ref_flags = calloc(commits.ref_count + 1, sizeof(*gathering->ref_flags));
	if (!gathering->fates || !gathering->ref_flags)
		return -ENOMEM;
	if (!is_expected(gathering)) {
		gathering->job->done.step = CHANGES_STEP_CONFIRMED;
		return -ESTALE;
	}
	for (size_t i = 0; i < gathering->items.count; i++) {
		if (is_chosen(gathering, gathering->items.all[i]))
			choose_item(gathering, i);
	}
	error = choose_refs(gathering);
	if (!error)
		error = enter_taken(gathering);
	if (!error)
		error = enter_commits(gathering);
	journal_sort(&gathering->journal);
	return error;
}

static const struct difference *show_entry(const void *context, const struct journal_entry *entry)
{
	static struct difference difference;
	const struct gathering *gathering = context;

	items_show(gathering->items.all[entry->change], &difference);
	return &difference;
}

static int source_open(const void *context, const struct journal_entry *entry)
{
	const struct gathering *gathering = context;
	const struct difference *shown;

	if (entry->change >= number_of_object(gathering, commits.object_count)) {
		const struct branches_file *file = branches_file(
			entry->change - number_of_object(gathering, commits.object_count));

		return files_from_bytes(file->bytes, file->size);
	}
	if (entry->change >= number_of_object(gathering, 0))
		return commits_open_object(entry->change - number_of_object(gathering, 0));
	if (entry->change >= number_of_ref(gathering, 0))
		return commits_open_ref(entry->change - number_of_ref(gathering, 0));
	shown = show_entry(context, entry);
	return entry->is_merged ? threeway_open(gathering->job, shown, entry->from.hash)
				: tree_open(&gathering->job->directories, shown, false);
}

static int source_link(const void *context, const struct journal_entry *entry,
		       char ret[IPC_PATH_MAX])
{
	const struct gathering *gathering = context;

	return tree_link(&gathering->job->directories, show_entry(context, entry), false, ret);
}

static int settle_refs(const void *context)
{
	const struct gathering *gathering = context;
	int error = 0;

	for (size_t i = 0; i < commits.ref_count && !error; i++)
		error = gathering->fates[number_of_ref(gathering, i)] == FATE_TAKEN
				? branches_settle(gathering->job, i)
				: 0;
	return error;
}

/* The flags of the item or ref that an entry is of; NULL: of an object or a directory for one. */
static uint32_t *flags_of(const struct gathering *gathering, const struct journal_entry *entry)
{
	if (entry->change < gathering->items.count)
		return &gathering->items.all[entry->change]->flags;
	return entry->change < number_of_object(gathering, 0)
		       ? &gathering->ref_flags[entry->change - number_of_ref(gathering, 0)]
		       : NULL;
}

/* After a run: what became of each. */
static void note_result(struct gathering *gathering, const struct apply_run *run, int error)
{
	gathering->job->done.conflicts += run->conflicts;
	for (size_t i = 0; i < run->journal.count; i++) {
		const struct journal_entry *entry = &run->journal.entries[i];
		uint32_t *flags = flags_of(gathering, entry);

		if (flags && error == -ESTALE && entry == run->failed) {
			*flags |= CHANGE_IS_CONFLICT;
			gathering->job->done.conflicts++;
		}
		if (!flags || error || entry->is_skipped || *flags & CHANGE_IS_APPLIED)
			continue;
		*flags |= CHANGE_IS_APPLIED;
		gathering->job->done.applied++;
	}
}

static int tell_refs(struct gathering *gathering)
{
	static struct difference difference;
	char text[IPC_PATH_MAX];
	int error = 0;

	for (size_t i = 0; i < commits.ref_count && error == 0; i++) {
		gathering->job->done.total++;
		commits_show(i, &difference, text);
		difference.flags = gathering->ref_flags[i];
		error = job_tell(gathering->job, &difference, text, NULL, 0);
	}
	return error;
}

static int tell_items(struct gathering *gathering)
{
	int error = 0;

	for (size_t i = 0; i < gathering->items.count && error == 0; i++) {
		static struct difference difference;
		char link[IPC_PATH_MAX] = "";

		if (gathering->fates[i] == FATE_OUT)
			continue;
		gathering->job->done.total++;
		items_show(gathering->items.all[i], &difference);
		if (S_ISLNK(difference.now.st_mode) &&
		    tree_link(&gathering->job->directories, &difference, false, link) < 0)
			link[0] = '\0';
		error = job_tell(gathering->job, &difference, link, NULL, 0);
	}
	return error ? error : tell_refs(gathering);
}

static int run_apply(struct gathering *gathering)
{
	struct job *job = gathering->job;
	const struct apply_source source = { gathering, source_open, source_link, settle_refs,
					     NULL };
	struct apply_run run = {
		.directories = &job->directories,
		.source = &source,
		.journal = gathering->journal,
	};
	int error;

	run.journal.kind = JOURNAL_APPLY;
	error = apply_run(&run);
	job->done.step = error ? run.step : CHANGES_STEP_NONE;
	note_result(gathering, &run, error);
	apply_run_done(&run);
	gathering->journal = (struct journal){ 0 };
	return error;
}

/* Return whether to apply: never with a conflict that is not decided. */
static bool is_to_run(const struct gathering *gathering)
{
	const struct job *job = gathering->job;

	return gathering->journal.count > 0 &&
	       (job->done.conflicts == 0 || job->ask->conflict == CONFLICT_SANDBOX ||
		job->ask->conflict == CONFLICT_HOST);
}

static int apply_job(struct job *job)
{
	struct gathering gathering = { .job = job };
	uint32_t ignored;
	int error = apply_recover(&job->directories, &ignored); /* never reported as applied */
	int told;

	if (error)
		return error;
	job->done.step = CHANGES_STEP_READ;
	error = gather_items(&gathering);
	if (error == 0) {
		job->done.step = CHANGES_STEP_NONE;
		if (is_to_run(&gathering))
			error = run_apply(&gathering);
		told = tell_items(&gathering);
		if (told && error == 0) {
			error = told;
			job->done.step = CHANGES_STEP_OUTPUT;
		}
	}
	journal_free(&gathering.journal);
	items_free(&gathering.items);
	items_free(&gathering.olds);
	commits_end();
	free(gathering.fates);
	free(gathering.ref_flags);
	return error;
}

int job_apply(struct job *job)
{
	int lock = apply_lock(&job->directories);
	int error;

	job->done.step = CHANGES_STEP_JOURNAL;
	error = lock < 0 ? lock : apply_job(job);
	fd_close(&lock);
	return error;
}
