/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of an apply's steps. A step that cannot be lost is synced before the next one begins;
 * between any two of them the process may be killed, and apply_recover() goes on from there.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "layers/apply/apply.h"
#include "layers/base/base.h"
#include "layers/base/beneath.h"
#include "layers/base/files.h"
#include "layers/base/progress.h"
#include "layers/base/remove.h"

static int keep_open(struct apply_run *run)
{
	run->keep = beneath_directory(run->directories->host, run->name);
	return run->keep < 0 ? run->keep : 0;
}

static int keep_make(struct apply_run *run)
{
	if (mkdirat(run->directories->host, run->name, 0700) != 0)
		return -errno;
	/* An apply whose old files can move into the journal need not copy them. */
	if (run->journal.kind == JOURNAL_APPLY &&
	    files_rename(run->directories->host, run->name, run->state, JOURNAL_KEPT_NAME,
			 RENAME_NOREPLACE) == 0) {
		const int error = files_rename(run->state, JOURNAL_KEPT_NAME,
					       run->directories->host, run->name, RENAME_NOREPLACE);

		if (error)
			return error;
		run->journal.kind = JOURNAL_KEPT;
	}
	return keep_open(run);
}

/* Move the old files into the journal, for good. Nothing to move: that was done before. */
static int keep_move(const struct apply_run *run)
{
	int error = files_rename(run->directories->host, run->name, run->state, JOURNAL_KEPT_NAME,
				 RENAME_NOREPLACE);

	if (error == 0 || error == -ENOENT)
		error = journal_sync(run->directories->host);
	return error ? error : journal_sync(run->state);
}

static int keep_remove(struct apply_run *run)
{
	fd_close(&run->keep);
	return remove_tree(run->directories->host, run->name);
}

static int stage_entries(struct apply_run *run)
{
	int error = keep_make(run);

	for (size_t i = 0; i < run->journal.count && error == 0; i++) {
		run->failed = &run->journal.entries[i];
		error = apply_stage(run, i);
		progress_note(CHANGE_STAGE_PREPARE, i + 1, run->journal.count);
	}
	run->step = CHANGES_STEP_JOURNAL;
	if (error == 0)
		error = journal_write(run->state, &run->journal);
	if (error == 0 && (syncfs(run->state) != 0 || syncfs(run->keep) != 0))
		error = -errno;
	return error;
}

/* The host's files are old, and what lies beside is of no use. */
static int abandon_run(struct apply_run *run)
{
	const int error = keep_remove(run);

	return error ? error : journal_drop(run->directories->journal, JOURNAL_STAGING);
}

/* Renew the bases of the files that this apply has put on the host: see base_renew(). */
static int renew_bases(const struct apply_run *run)
{
	const struct journal *journal = &run->journal;
	struct base_change *changes;
	size_t count = 0;
	int error;

	if (run->directories->layer_count == 0)
		return 0;
	changes = calloc(journal->count + 1, sizeof(*changes));
	if (!changes)
		return -ENOMEM;
	for (size_t i = 0; i < journal->count; i++) {
		const struct journal_entry *entry = &journal->entries[i];
		struct stat status;

		if (beneath_look(run->directories->host, entry->path, &status) == 0 &&
		    (entry->to.mode == 0 ? status.st_mode == 0 : files_is(&entry->to, &status)))
			changes[count++] = (struct base_change){
				entry->path, journal->kind == JOURNAL_UNDO ? &entry->from : NULL,
				entry->is_merged, S_ISREG(status.st_mode)
			};
	}
	error = base_renew(run->directories, changes, count);
	free(changes);
	return error;
}

/* All are new. */
static int finish_run(struct apply_run *run)
{
	const int journal = run->directories->journal;
	int error = run->journal.kind == JOURNAL_KEPT ? keep_move(run) : keep_remove(run);

	if (error == 0) {
		/* Without it, what the sandbox changes again is a conflict. */
		(void)renew_bases(run);
		error = run->keeps_last ? 0 : journal_drop(journal, JOURNAL_DONE);
	}
	if (error)
		return error;
	if (run->journal.kind == JOURNAL_UNDO)
		return journal_drop(journal, JOURNAL_COMMITTED);
	return journal_move(journal, JOURNAL_COMMITTED, JOURNAL_DONE);
}

/* For as long as a file is neither old nor new, what was before can be had by an undo. */
static int take_back(struct apply_run *run)
{
	const int journal = run->directories->journal;
	int error;

	if (run->keep < 0) {
		run->conflicts++; /* somebody removed it */
	} else {
		error = apply_back(run);
		if (error)
			return error;
		if (syncfs(run->keep) != 0)
			return -errno;
	}
	if (run->conflicts && run->journal.kind != JOURNAL_UNDO) {
		error = journal_move(journal, JOURNAL_SWAPPING, JOURNAL_COMMITTED);
		return error ? error : finish_run(run);
	}
	error = journal_move(journal, JOURNAL_SWAPPING, JOURNAL_STAGING);
	return error && error != -ENOENT ? error : abandon_run(run); /* or it still is */
}

static int commit_run(const struct apply_run *run)
{
	const int journal = run->directories->journal;

	if (syncfs(run->keep) != 0)
		return -errno;
	return files_rename(journal, JOURNAL_SWAPPING, journal, JOURNAL_COMMITTED,
			    RENAME_NOREPLACE);
}

int apply_run(struct apply_run *run)
{
	int error;

	run->step = CHANGES_STEP_JOURNAL;
	run->keep = -1;
	run->state = journal_begin(run->directories->journal, &run->journal);
	if (run->state < 0)
		return run->state;
	journal_keep_name(&run->journal, run->name);
	run->step = CHANGES_STEP_WRITE;
	error = stage_entries(run);
	if (error) {
		(void)abandon_run(run); /* else it is done before the next one */
		return error;
	}
	error = journal_move(run->directories->journal, JOURNAL_STAGING, JOURNAL_SWAPPING);
	if (error == 0) {
		run->step = CHANGES_STEP_WRITE;
		error = apply_swap(run);
	}
	if (error == 0 && run->source->settle)
		error = run->source->settle(run->source->context);
	if (error == 0)
		error = commit_run(run);
	if (error) {
		(void)take_back(run); /* else it is done before the next one */
		return error;
	}
	error = journal_sync(run->directories->journal);
	if (error)
		return error;  /* it may be old after a loss of power, and is new without one */
	(void)finish_run(run); /* else it is done before the next one */
	return 0;
}

void apply_run_done(struct apply_run *run)
{
	fd_close(&run->keep);
	fd_close(&run->state);
	journal_free(&run->journal);
}

/* Go on with a state that was left. */
static int go_on(struct apply_run *run, const char *state, int (*step)(struct apply_run *run))
{
	int error = journal_read(run->directories->journal, state, &run->journal, &run->state);

	if (error)
		return error == -ENOENT ? 0 : error;
	journal_keep_name(&run->journal, run->name);
	error = keep_open(run);
	if (error == 0 || error == -ENOENT)
		error = step(run);
	apply_run_done(run);
	return error;
}

static int recover_committed(struct apply_run *run)
{
	const int error = journal_sync(run->directories->journal);

	return error ? error : finish_run(run);
}

int apply_recover(const struct job_directories *directories, uint32_t *ret_conflicts)
{
	static const struct {
		const char *state;
		int (*step)(struct apply_run *run);
	} rows[] = {
		{ JOURNAL_SWAPPING, take_back },
		{ JOURNAL_STAGING, abandon_run },
		{ JOURNAL_COMMITTED, recover_committed },
	};
	struct apply_run run = { .directories = directories, .state = -1, .keep = -1 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const int error = go_on(&run, rows[i].state, rows[i].step);

		if (error)
			return error;
	}
	*ret_conflicts = run.conflicts;
	return journal_drop(directories->journal, JOURNAL_NEW);
}

int apply_lock(const struct job_directories *directories)
{
	int fd = beneath_directory(directories->journal, "");

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		const int error = errno == EWOULDBLOCK ? -EBUSY : -errno;

		fd_close(&fd);
		return error;
	}
	return fd;
}

int job_recover(struct job *job)
{
	int lock = apply_lock(&job->directories);
	int error = lock < 0 ? lock : apply_recover(&job->directories, &job->done.conflicts);

	fd_close(&lock);
	job->done.step = error ? CHANGES_STEP_JOURNAL : CHANGES_STEP_NONE;
	return error;
}
