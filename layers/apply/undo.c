/* SPDX-License-Identifier: Apache-2.0
 *
 * The last apply's journal, read the other way round: what it says was there comes back, where what
 * the apply made of it is still there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/records/changes.h"
#include "layers/apply/apply.h"
#include "layers/base/beneath.h"
#include "layers/base/files.h"
#include "layers/base/gitpath.h"
#include "layers/base/progress.h"
#include "layers/branches/branches.h"

struct undoing {
	struct job *job;
	struct journal done; /* the apply's */
	int saved;           /* its directory */
	uint32_t *flags;     /* for each of its entries, what is told of it; 0: nothing */
	struct journal journal;
};

static bool has_content(const struct job_directories *directories, const char *path,
			const struct journal_side *side)
{
	uint8_t hash[SHA256_BYTES];
	struct stat status;
	int fd = beneath_file(directories->host, path, &status);
	const bool is_read =
		fd >= 0 && (uint64_t)status.st_size == side->size && files_copy(fd, -1, hash) == 0;

	fd_close(&fd);
	return (is_read && memcmp(hash, side->hash, sizeof(hash)) == 0) ||
	       (strcmp(path, ".git/index") == 0 && branches_has_index(directories, side));
}

static bool has_text(const struct job_directories *directories, const char *path,
		     const struct journal_side *side)
{
	uint8_t hash[SHA256_BYTES];

	return beneath_hash_link(directories->host, path, hash) == 0 &&
	       memcmp(hash, side->hash, sizeof(hash)) == 0;
}

static bool is_special(uint32_t mode)
{
	return S_ISFIFO(mode) || S_ISSOCK(mode);
}

/* Only what stayed in its place has a side without a hash. */
static bool is_side(const struct job_directories *directories, const struct journal_entry *entry,
		    const struct journal_side *side, const struct stat *status)
{
	if (side->mode == 0 || status->st_mode == 0)
		return side->mode == status->st_mode;
	if (S_ISLNK(side->mode))
		return S_ISLNK(status->st_mode) && has_text(directories, entry->path, side);
	if (side->mode != (status->st_mode & (S_IFMT | 0777U)))
		return false;
	if (S_ISDIR(side->mode) || is_special(side->mode))
		return true; /* it has no content */
	return apply_is_in_place(entry) ? files_is(side, status)
					: has_content(directories, entry->path, side);
}

/* Name the old file of an entry in the journal: a copy or, kept, the file itself. False: it is in
 * neither place, because an interrupted apply was taken back and left changes of the host; or a
 * program had it open and has written to it. */
static bool name_saved(const struct undoing *undoing, const struct journal_entry *was,
		       char ret[JOURNAL_SAVED_MAX])
{
	const size_t number = (size_t)(was - undoing->done.entries);
	struct stat status;

	journal_number(number, ret);
	if (undoing->done.kind != JOURNAL_KEPT || apply_is_in_place(was) || was->from.mode == 0 ||
	    S_ISDIR(was->from.mode) ||
	    fstatat(undoing->saved, ret, &status, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	journal_number(number, stpcpy(ret, JOURNAL_KEPT_NAME "/"));
	return fstatat(undoing->saved, ret, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       files_is(&was->from, &status);
}

static int enter_entry(struct undoing *undoing, const struct journal_entry *was,
		       const struct stat *status)
{
	struct journal_entry *entry = apply_enter(&undoing->journal, was->path, status,
						  (size_t)(was - undoing->done.entries));

	if (!entry)
		return -ENOMEM;
	memcpy(entry->from.hash, was->to.hash, sizeof(entry->from.hash));
	entry->to.mode = was->from.mode;
	memcpy(entry->to.hash, was->from.hash, sizeof(entry->to.hash));
	if (apply_is_in_place(was) || (S_ISDIR(entry->from.mode) && S_ISDIR(entry->to.mode))) {
		entry->to = entry->from;
		entry->to.mode = was->from.mode;
	}
	return 0;
}

static int look_at(struct undoing *undoing, size_t number)
{
	const struct job_directories *directories = &undoing->job->directories;
	const struct journal_entry *was = &undoing->done.entries[number];
	char name[JOURNAL_SAVED_MAX];
	struct stat status;
	const int error = beneath_look(directories->host, was->path, &status);
	const bool is_elsewhere = error == -ELOOP || error == -EXDEV;
	const bool is_stuck = is_elsewhere || !name_saved(undoing, was, name);

	if (error && !is_elsewhere)
		return error;
	if (!is_stuck && is_side(directories, was, &was->to, &status)) {
		undoing->flags[number] = CHANGE_IS_UNDONE;
		return enter_entry(undoing, was, &status);
	}
	if (!is_elsewhere && is_side(directories, was, &was->from, &status))
		return 0;
	undoing->flags[number] = CHANGE_IS_CONFLICT;
	undoing->job->done.conflicts++;
	if (undoing->job->ask->conflict != CONFLICT_SANDBOX || apply_is_in_place(was) || is_stuck)
		return 0;
	undoing->flags[number] |= CHANGE_IS_UNDONE;
	return enter_entry(undoing, was, &status);
}

/* Keep all that the apply changed in a repository if anything of it stays: half of the files would
 * name objects that are gone. */
static void keep_repository(struct undoing *undoing, const char *path, size_t size)
{
	for (size_t i = 0; i < undoing->done.count; i++) {
		const char *other = undoing->done.entries[i].path;

		if (undoing->flags[i] & CHANGE_IS_UNDONE && gitpath_repository(other) == size &&
		    memcmp(other, path, size) == 0) {
			undoing->flags[i] = CHANGE_IS_CONFLICT;
			undoing->job->done.conflicts++;
		}
	}
}

static void keep_repositories(struct undoing *undoing)
{
	struct journal *journal = &undoing->journal;
	const char *last = "";
	size_t count = 0;

	for (size_t i = 0; i < undoing->done.count; i++) {
		const char *path = undoing->done.entries[i].path;
		const size_t size = gitpath_repository(path);

		if (undoing->flags[i] != CHANGE_IS_CONFLICT || size == 0 ||
		    (gitpath_repository(last) == size && memcmp(last, path, size) == 0))
			continue;
		keep_repository(undoing, path, size);
		last = path;
	}
	for (size_t i = 0; i < journal->count; i++) {
		if (undoing->flags[journal->entries[i].change] & CHANGE_IS_UNDONE)
			journal->entries[count++] = journal->entries[i];
		else
			free(journal->entries[i].path);
	}
	journal->count = count;
}

static int source_open(const void *context, const struct journal_entry *entry)
{
	const struct undoing *undoing = context;
	char name[JOURNAL_SAVED_MAX];
	struct stat status;

	(void)name_saved(undoing, &undoing->done.entries[entry->change],
			 name); /* else it cannot be opened */
	return beneath_file(undoing->saved, name, &status);
}

static int source_link(const void *context, const struct journal_entry *entry,
		       char ret[IPC_PATH_MAX])
{
	const struct undoing *undoing = context;
	char name[JOURNAL_SAVED_MAX];

	(void)name_saved(undoing, &undoing->done.entries[entry->change],
			 name); /* else it cannot be read */
	return beneath_link(undoing->saved, name, ret);
}

/* Adopt the host's own file, unless it has another name by which it could be written to. */
static bool source_adopt(const void *context, const struct journal_entry *entry, int directory,
			 const char *name)
{
	const struct undoing *undoing = context;
	char saved[JOURNAL_SAVED_MAX];
	struct stat status;

	return name_saved(undoing, &undoing->done.entries[entry->change], saved) &&
	       fstatat(undoing->saved, saved, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       status.st_nlink == 1 && (status.st_mode & 0777) == (entry->to.mode & 0777) &&
	       linkat(undoing->saved, saved, directory, name, 0) == 0;
}

/* Is there something that stays as it is now? What was before it is in the last apply's journal,
 * and nowhere else. */
static bool has_rest(const struct undoing *undoing)
{
	for (size_t i = 0; i < undoing->done.count; i++) {
		if (undoing->flags[i] && !(undoing->flags[i] & CHANGE_IS_UNDONE))
			return true;
	}
	return false;
}

static int run_undo(struct undoing *undoing)
{
	struct job *job = undoing->job;
	const bool keeps_last = has_rest(undoing);
	/* A journal that stays needs its files for itself. */
	const struct apply_source source = { undoing, source_open, source_link, NULL,
					     keeps_last ? NULL : source_adopt };
	struct apply_run run = { .directories = &job->directories,
				 .source = &source,
				 .journal = undoing->journal,
				 .keeps_last = keeps_last };
	int error;

	run.journal.kind = JOURNAL_UNDO;
	error = apply_run(&run);
	job->done.step = error ? run.step : CHANGES_STEP_NONE;
	for (size_t i = 0; i < run.journal.count; i++) {
		const struct journal_entry *entry = &run.journal.entries[i];

		if (error == -ESTALE && entry == run.failed) {
			undoing->flags[entry->change] |= CHANGE_IS_CONFLICT;
			job->done.conflicts++;
		}
		if (error || entry->is_skipped)
			undoing->flags[entry->change] &= ~(uint32_t)CHANGE_IS_UNDONE;
	}
	apply_run_done(&run);
	undoing->journal = (struct journal){ 0 };
	return error;
}

static uint32_t kind_of(const struct journal_entry *entry)
{
	const uint32_t type = entry->to.mode & (uint32_t)S_IFMT;

	if (entry->from.mode == 0)
		return CHANGE_ADDED;
	if (entry->to.mode == 0)
		return CHANGE_DELETED;
	if (type != (entry->from.mode & (uint32_t)S_IFMT))
		return CHANGE_TYPE;
	if (apply_is_in_place(entry))
		return CHANGE_MODE;
	return type == S_IFLNK ? CHANGE_SYMLINK : CHANGE_MODIFIED;
}

static void show_side(const struct journal_side *side, struct stat *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->st_mode = side->mode;
	ret->st_size = (off_t)side->size;
}

/* Return whether an entry is a part of a ref that is told of: an object, or a directory in .git. */
static bool is_part_of_commits(const struct journal_entry *entry)
{
	static const char refs[] = ".git/refs/";
	const size_t repository = gitpath_repository(entry->path);

	return repository > 0 &&
	       !(S_ISREG(entry->to.mode) && strncmp(entry->path, refs, sizeof(refs) - 1) == 0);
}

/* The apply's changes, with what became of each. */
static int tell_entries(struct undoing *undoing)
{
	static struct difference difference;
	int error = 0;

	for (size_t i = 0; i < undoing->done.count && error == 0; i++) {
		const struct journal_entry *entry = &undoing->done.entries[i];
		const bool is_directory =
			S_ISDIR(entry->from.mode ? entry->from.mode : entry->to.mode);

		if (undoing->flags[i] == 0 || is_part_of_commits(entry))
			continue;
		undoing->job->done.total++;
		undoing->job->done.applied += (undoing->flags[i] & CHANGE_IS_UNDONE) != 0;
		difference.kind = kind_of(entry);
		difference.flags = undoing->flags[i] | (is_directory ? CHANGE_IS_DIRECTORY : 0);
		(void)stpcpy(difference.path, entry->path); /* shorter: journal_check_path() */
		show_side(&entry->from, &difference.old);
		show_side(&entry->to, &difference.now);
		error = job_tell(undoing->job, &difference, NULL, NULL, 0);
	}
	return error;
}

static int undo_job(struct undoing *undoing)
{
	struct job *job = undoing->job;
	int error = 0;
	int told;

	undoing->flags = calloc(undoing->done.count + 1, sizeof(*undoing->flags));
	if (!undoing->flags)
		return -ENOMEM;
	job->done.step = CHANGES_STEP_READ;
	for (size_t i = 0; i < undoing->done.count && error == 0; i++) {
		error = look_at(undoing, i);
		progress_note(CHANGE_STAGE_COMPARE, i + 1, undoing->done.count);
	}
	if (error)
		return error;
	job->done.step = CHANGES_STEP_NONE;
	keep_repositories(undoing);
	journal_sort(&undoing->journal);
	if (job->done.conflicts > 0 && job->ask->conflict == CONFLICT_REFUSE) {
		for (size_t i = 0; i < undoing->done.count; i++)
			undoing->flags[i] &= CHANGE_IS_CONFLICT;
	} else {
		error = run_undo(undoing);
	}
	told = tell_entries(undoing);
	if (told && error == 0)
		job->done.step = CHANGES_STEP_OUTPUT;
	return error ? error : told;
}

int job_undo(struct job *job)
{
	const struct job_directories *directories = &job->directories;
	struct undoing undoing = { .job = job, .saved = -1 };
	uint32_t conflicts = 0;
	int lock = apply_lock(directories);
	int error = lock < 0 ? lock : apply_recover(directories, &conflicts);

	job->done.step = CHANGES_STEP_JOURNAL;
	if (error == 0)
		error = journal_read(directories->journal, JOURNAL_DONE, &undoing.done,
				     &undoing.saved);
	if (error == 0)
		error = undo_job(&undoing);
	journal_free(&undoing.done);
	journal_free(&undoing.journal);
	free(undoing.flags);
	fd_close(&undoing.saved);
	fd_close(&lock);
	return error;
}
