/* SPDX-License-Identifier: Apache-2.0
 *
 * The new file of an entry is made in the directory beside, under its number; the old one is copied
 * into the journal, unless it moves there in the end. Both are read to their end here, and nothing
 * of the host has changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "layers/apply/apply.h"
#include "layers/base/beneath.h"
#include "layers/base/files.h"

/* A file system's clock ticks at least so often, and this is how many ticks are waited for. */
#define TICK_NS 4000000L
#define TICKS_MAX 10

#define NEW_FILE (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)

struct journal_entry *apply_enter(struct journal *journal, const char *path,
				  const struct stat *from, size_t change)
{
	struct journal_entry *entry = journal_add(journal, path);

	if (!entry)
		return NULL;
	files_side(from, &entry->from);
	entry->changed = from->st_ctim;
	entry->is_linked = from->st_nlink > 1;
	entry->change = change;
	return entry;
}

bool apply_is_in_place(const struct journal_entry *entry)
{
	return entry->from.mode != 0 && entry->from.inode == entry->to.inode &&
	       (entry->from.mode & (uint32_t)S_IFMT) == (entry->to.mode & (uint32_t)S_IFMT);
}

/* A write within the tick in which a file last changed leaves its time as it is, and would not be
 * seen: begin to read when that tick is over. */
static void wait_for_tick(const struct timespec *changed)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	struct timespec now;

	for (int i = 0; i < TICKS_MAX; i++) {
		if (clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0 ||
		    clock_ns_of(&now) > clock_ns_of(changed))
			return;
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &tick, NULL); /* it is looked again */
	}
}

/* Return whether the host's file is as it was compared. A change in a directory is another entry's,
 * and each use of a FIFO is one; and each rename of one of several links to a file is a change of
 * that file. */
bool apply_is_as_compared(const struct journal_entry *entry, const struct stat *status)
{
	const bool has_content = S_ISREG(status->st_mode) || S_ISLNK(status->st_mode);

	return files_is(&entry->from, status) &&
	       (!has_content || entry->is_linked ||
		clock_ns_of(&status->st_ctim) == clock_ns_of(&entry->changed));
}

static int save_file(const struct apply_run *run, struct journal_entry *entry, const char *number)
{
	/* Somebody may go on writing to a file by another of its names. */
	const bool is_copied = run->journal.kind == JOURNAL_APPLY || entry->is_linked;
	struct stat status;
	int from = beneath_file(run->directories->host, entry->path, &status);
	int to = -1;
	int error = from < 0 ? from : 0;

	if (error == 0 && !apply_is_as_compared(entry, &status))
		error = -ESTALE;
	if (error == 0 && is_copied) {
		to = openat(run->state, number, NEW_FILE, 0600);
		error = to < 0 ? -errno : 0;
	}
	if (error == 0)
		error = files_copy(from, to, entry->from.hash);
	if (error == 0 && fstat(from, &status) != 0)
		error = -errno;
	if (error == 0 && !apply_is_as_compared(entry, &status))
		error = -ESTALE;
	fd_close(&from);
	fd_close(&to);
	return error;
}

static int save_link(const struct apply_run *run, struct journal_entry *entry, const char *number)
{
	char text[IPC_PATH_MAX];
	const int size = beneath_link(run->directories->host, entry->path, text);

	if (size < 0)
		return size;
	sha256(text, (size_t)size, entry->from.hash);
	return run->journal.kind == JOURNAL_KEPT || symlinkat(text, run->state, number) == 0
		       ? 0
		       : -errno;
}

static int save_old(const struct apply_run *run, struct journal_entry *entry, const char *number)
{
	if (run->journal.kind == JOURNAL_UNDO)
		return 0; /* the apply's own journal has what was before */
	wait_for_tick(&entry->changed);
	if (S_ISREG(entry->from.mode))
		return save_file(run, entry, number);
	return S_ISLNK(entry->from.mode) ? save_link(run, entry, number) : 0;
}

static int make_file(const struct apply_run *run, struct journal_entry *entry, const char *number)
{
	const struct apply_source *source = run->source;
	int from = source->open(source->context, entry);
	const bool is_adopted = from >= 0 && source->adopt &&
				source->adopt(source->context, entry, run->keep, number);
	int to = from < 0 || is_adopted ? -1 : openat(run->keep, number, NEW_FILE, 0600);
	int error = from < 0 ? from : to < 0 && !is_adopted ? -errno : 0;

	if (error == 0)
		error = files_copy(from, to, entry->to.hash);
	if (error == 0 && to >= 0 && fchmod(to, entry->to.mode & 0777) != 0)
		error = -errno;
	fd_close(&from);
	fd_close(&to);
	return error;
}

static int make_link(const struct apply_run *run, struct journal_entry *entry, const char *number)
{
	char text[IPC_PATH_MAX];
	const int size = run->source->link(run->source->context, entry, text);

	if (size < 0)
		return size;
	sha256(text, (size_t)size, entry->to.hash);
	return symlinkat(text, run->keep, number) == 0 ? 0 : -errno;
}

/* Make a FIFO or socket, which has no content: the host's own, which a program may have open, or
 * another one. */
static int make_special(const struct apply_run *run, const struct journal_entry *entry,
			const char *number)
{
	const struct apply_source *source = run->source;

	if (source->adopt && source->adopt(source->context, entry, run->keep, number))
		return 0;
	if (mknodat(run->keep, number, (entry->to.mode & (uint32_t)S_IFMT) | 0600, 0) != 0)
		return -errno;
	return files_chmod(run->keep, number, entry->to.mode & 0777);
}

/* It must be open to us until all is in it. */
static int make_directory(const struct apply_run *run, const struct journal_entry *entry,
			  const char *number)
{
	if (mkdirat(run->keep, number, 0700) != 0)
		return -errno;
	return files_chmod(run->keep, number, (entry->to.mode & 0777) | 0700);
}

/* Compare a hash: a saved file must still be the one that was compared. */
static int check_hash(const uint8_t wanted[SHA256_BYTES], const uint8_t hash[SHA256_BYTES])
{
	return files_is_zero(wanted, SHA256_BYTES) || memcmp(wanted, hash, SHA256_BYTES) == 0
		       ? 0
		       : -EBADMSG;
}

static int make_new(const struct apply_run *run, struct journal_entry *entry, const char *number)
{
	if (S_ISREG(entry->to.mode))
		return make_file(run, entry, number);
	if (S_ISLNK(entry->to.mode))
		return make_link(run, entry, number);
	if (S_ISDIR(entry->to.mode))
		return make_directory(run, entry, number);
	return S_ISFIFO(entry->to.mode) || S_ISSOCK(entry->to.mode)
		       ? make_special(run, entry, number)
		       : -EINVAL;
}

int apply_stage(struct apply_run *run, size_t number)
{
	struct journal_entry *entry = &run->journal.entries[number];
	const uint32_t mode = entry->to.mode;
	uint8_t wanted[SHA256_BYTES];
	char name[JOURNAL_NUMBER_MAX];
	struct stat status;
	int error = 0;

	if (apply_is_in_place(entry))
		return 0;
	journal_number(number, name);
	if (entry->from.mode != 0)
		error = save_old(run, entry, name);
	if (error || mode == 0)
		return error;
	memcpy(wanted, entry->to.hash, sizeof(wanted));
	error = make_new(run, entry, name);
	if (error == 0)
		error = check_hash(wanted, entry->to.hash);
	if (error == 0 && fstatat(run->keep, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		error = -errno;
	if (error)
		return error;
	memcpy(wanted, entry->to.hash, sizeof(wanted));
	files_side(&status, &entry->to);
	memcpy(entry->to.hash, wanted, sizeof(wanted));
	entry->to.mode = mode;
	return 0;
}
