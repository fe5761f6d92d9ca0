/* SPDX-License-Identifier: Apache-2.0
 *
 * Each entry is one rename: an old file and a new one change places, or one of them moves. After
 * it, what was taken away is looked at: only then it is certain that it was what was compared, and
 * nothing that came in between. The way back asks of each entry where its files are, by their
 * inode, and not how far the way there went; so it can be interrupted and begun again.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "layers/apply/apply.h"
#include "layers/base/files.h"
#include "layers/base/gitpath.h"
#include "layers/base/progress.h"

/* The places of an entry's two files. */
struct place {
	int parent; /* on the host, O_PATH */
	const char *name;
	int keep;
	char number[JOURNAL_NUMBER_MAX];
};

static int place_open(const struct apply_run *run, const struct journal_entry *entry,
		      struct place *ret)
{
	const struct journal *journal = &run->journal;

	ret->keep = run->keep;
	journal_number((size_t)(entry - journal->entries), ret->number);
	ret->parent = files_parent(run->directories->host, entry->path, &ret->name);
	return ret->parent < 0 ? ret->parent : 0;
}

/* Look at a name; a mode of 0: there is no file. */
static int look_at(int directory, const char *name, struct stat *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (fstatat(directory, name, ret, AT_SYMLINK_NOFOLLOW) == 0 || errno == ENOENT)
		return 0;
	return -errno;
}

static int is_filled(int directory, const char *name, uint32_t mode)
{
	const int is_empty = S_ISDIR(mode) ? files_is_empty(directory, name) : 1;

	return is_empty < 0 ? is_empty : is_empty ? 0 : -ENOTEMPTY;
}

/* Check that the file in `keep`, which was taken from the host, is the one that was compared. */
static int check_taken(const struct place *place, const struct journal_side *side)
{
	struct stat status;
	const int error = look_at(place->keep, place->number, &status);

	if (error)
		return error;
	if (!files_is(side, &status))
		return -ESTALE;
	return is_filled(place->keep, place->number, side->mode);
}

static int check_there(const struct place *place, const struct journal_entry *entry)
{
	struct stat status;
	const int error = look_at(place->parent, place->name, &status);

	if (error)
		return error;
	if (!apply_is_as_compared(entry, &status))
		return -ESTALE;
	return apply_is_in_place(entry) ? 0 : is_filled(place->parent, place->name, status.st_mode);
}

static int move_out(const struct place *place, unsigned int flags, const struct journal_side *side)
{
	int error = files_rename(place->parent, place->name, place->keep, place->number, flags);

	if (error)
		return error;
	error = check_taken(place, side);
	if (error) { /* back, without a look at what it is: the host's */
		const int again =
			files_rename(place->keep, place->number, place->parent, place->name, flags);

		error = again ? again : error;
	}
	return error;
}

static int swap_files(const struct place *place, struct journal_entry *entry)
{
	int error;

	if (entry->from.mode == 0) {
		error = files_rename(place->keep, place->number, place->parent, place->name,
				     RENAME_NOREPLACE);
		return error == -EEXIST ? -ESTALE : error;
	}
	error = check_there(place, entry);
	if (error == 0 && apply_is_in_place(entry))
		error = files_chmod(place->parent, place->name,
				    (entry->to.mode & 0777) | (S_ISDIR(entry->to.mode) ? 0700 : 0));
	else if (error == 0)
		error = move_out(place, entry->to.mode ? RENAME_EXCHANGE : RENAME_NOREPLACE,
				 &entry->from);
	if (error == -ENOTEMPTY && entry->to.mode == 0) {
		entry->is_skipped = true; /* the host has something in it, and keeps both */
		return 0;
	}
	return error == -ENOENT || error == -ENOTEMPTY ? -ESTALE : error;
}

static int swap_entry(struct apply_run *run, struct journal_entry *entry)
{
	struct place place;
	int error = place_open(run, entry, &place);

	if (error == 0) {
		error = swap_files(&place, entry);
		fd_close(&place.parent);
	}
	/* A parent that is gone, a link or no directory: the host's doing. */
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP ? -ESTALE : error;
}

/* Set the permissions of a directory that shuts us out, and these more, if it is still the one. */
static int set_mode(const struct apply_run *run, const struct journal_entry *entry,
		    const struct journal_side *side, uint32_t more)
{
	const uint32_t mode = (side->mode & 0777) | more;
	const bool is_shut = S_ISDIR(side->mode) && (side->mode & 0700) != 0700;
	struct place place;
	struct stat status;
	int error = is_shut ? place_open(run, entry, &place) : 0;

	if (error || !is_shut)
		return error;
	error = look_at(place.parent, place.name, &status);
	if (error == 0 && !files_is(side, &status))
		error = -ESTALE;
	if (error == 0 && (status.st_mode & 07777) != mode)
		error = files_chmod(place.parent, place.name, mode);
	fd_close(&place.parent);
	return error;
}

/* Directories that go must be moved, and only who may write to one can move it. */
static int open_directories(struct apply_run *run)
{
	for (size_t i = 0; i < run->journal.count; i++) {
		const struct journal_entry *entry = &run->journal.entries[i];
		const int error =
			S_ISDIR(entry->to.mode) ? 0 : set_mode(run, entry, &entry->from, 0700);

		run->failed = entry;
		if (error)
			return error;
	}
	return 0;
}

/* Set the final modes of directories, which may shut us out, when everything is in them. */
static int close_directories(struct apply_run *run)
{
	for (size_t i = run->journal.count; i-- > 0;) {
		const struct journal_entry *entry = &run->journal.entries[i];
		const int error =
			set_mode(run, entry, entry->is_skipped ? &entry->from : &entry->to, 0);

		run->failed = entry;
		if (error)
			return error;
	}
	return 0;
}

int apply_swap(struct apply_run *run)
{
	int error = open_directories(run);

	for (size_t i = 0; i < run->journal.count && error == 0; i++) {
		run->failed = &run->journal.entries[i];
		error = swap_entry(run, &run->journal.entries[i]);
		progress_note(CHANGE_STAGE_REPLACE, i + 1, run->journal.count);
	}
	if (error == 0)
		error = close_directories(run);
	if (error == 0)
		run->failed = NULL;
	return error;
}

/* Directories may be closed again already. Where that fails, what is in them tells. */
static void reopen_directories(const struct apply_run *run)
{
	for (size_t i = 0; i < run->journal.count; i++) {
		const struct journal_entry *entry = &run->journal.entries[i];

		(void)set_mode(run, entry, &entry->from, 0700);
		(void)set_mode(run, entry, &entry->to, 0700);
	}
}

/* Take an added file back. */
static int back_added(const struct place *place, const struct journal_entry *entry,
		      const struct stat *kept, const struct stat *there)
{
	int error;

	if (kept->st_mode == 0) {
		if (there->st_mode == 0)
			return 0;
		return files_is(&entry->to, there) ? move_out(place, RENAME_NOREPLACE, &entry->to)
						   : -ESTALE;
	}
	if (files_is(&entry->to, kept))
		return 0; /* it never came, or is gone already */
	error = files_rename(place->keep, place->number, place->parent, place->name,
			     RENAME_NOREPLACE);
	return error == -EEXIST ? -ENOTRECOVERABLE : error ? error : -ESTALE;
}

static int back_deleted(const struct place *place, const struct journal_entry *entry,
			const struct stat *kept)
{
	int error;

	if (kept->st_mode == 0)
		return 0; /* it never went, or is back already */
	error = files_rename(place->keep, place->number, place->parent, place->name,
			     RENAME_NOREPLACE);
	return error == -EEXIST && !files_is(&entry->from, kept) ? -ENOTRECOVERABLE : error;
}

static int back_replaced(const struct place *place, const struct journal_entry *entry,
			 const struct stat *kept, const struct stat *there)
{
	const bool is_ours = files_is(&entry->to, there);
	int error;

	if (files_is(&entry->to, kept))
		return 0; /* it never came, or is gone already */
	if (kept->st_mode == 0)
		return files_is(&entry->from, there) ? 0 : -ESTALE;
	if (files_is(&entry->from, kept))
		return is_ours ? move_out(place, RENAME_EXCHANGE, &entry->to) : -ESTALE;
	/* The host's, taken in the moment between two looks. */
	if (!is_ours && !files_is(&entry->from, there))
		return -ENOTRECOVERABLE;
	error = files_rename(place->keep, place->number, place->parent, place->name,
			     RENAME_EXCHANGE);
	return error ? error : -ESTALE;
}

/* 0; -ESTALE: somebody else's file is there and stays; -ENOTRECOVERABLE: and another one is kept,
 * for a person to look at; another -errno. */
static int take_back(const struct place *place, const struct journal_entry *entry)
{
	struct stat kept, there;
	int error = look_at(place->keep, place->number, &kept);

	if (error == 0)
		error = look_at(place->parent, place->name, &there);
	if (error)
		return error;
	if (apply_is_in_place(entry)) {
		if (!files_is(&entry->from, &there))
			return -ESTALE;
		return files_chmod(place->parent, place->name, entry->from.mode & 0777);
	}
	if (entry->from.mode == 0)
		return back_added(place, entry, &kept, &there);
	if (entry->to.mode == 0)
		return back_deleted(place, entry, &kept);
	return back_replaced(place, entry, &kept, &there);
}

/* Its directory is not there: another entry took that back, or the host removed it. */
static int back_nowhere(const struct place *place, const struct journal_entry *entry)
{
	struct stat kept;
	const int error = look_at(place->keep, place->number, &kept);

	if (error)
		return error;
	if (kept.st_mode == 0 || files_is(&entry->to, &kept))
		return 0;
	return files_is(&entry->from, &kept) ? -ESTALE : -ENOTRECOVERABLE;
}

static int back_entry(const struct apply_run *run, const struct journal_entry *entry)
{
	struct place place;
	int error = place_open(run, entry, &place);

	if (error == -ENOENT || error == -ENOTDIR || error == -ELOOP)
		return back_nowhere(&place, entry);
	if (error == 0) {
		error = take_back(&place, entry);
		fd_close(&place.parent);
	}
	return error == -ENOENT || error == -EEXIST || error == -ENOTEMPTY ? -ESTALE : error;
}

int apply_back(struct apply_run *run)
{
	reopen_directories(run);
	for (size_t i = run->journal.count; i-- > 0;) {
		/* The host has gone on from a ref that stays: its objects stay too. */
		const int error = run->conflicts && gitpath_is_object(run->journal.entries[i].path)
					  ? 0
					  : back_entry(run, &run->journal.entries[i]);

		if (error && error != -ESTALE)
			return error;
		run->conflicts += error == -ESTALE;
	}
	for (size_t i = run->journal.count; i-- > 0;) {
		const struct journal_entry *entry = &run->journal.entries[i];

		(void)set_mode(run, entry, &entry->from, 0);
	}
	return 0;
}
