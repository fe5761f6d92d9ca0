/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/records/changes.h"
#include "layers/base/base_file.h"
#include "layers/base/beneath.h"

/* A note ends then, with what it has. The next one goes on; until then the rest counts as changed.
 * A count comes with it, and must not wait for as long as a workload likes. */
#define NOTE_MOST_US UINT64_C(5000000)

/* A file's times are those of the last timer tick: up to so much before the clock. */
#define TICK_NS UINT64_C(10000000)

static uint32_t kind_of(mode_t mode)
{
	if (mode == 0)
		return BASE_ABSENT;
	if (S_ISREG(mode))
		return BASE_FILE;
	if (S_ISLNK(mode))
		return BASE_LINK;
	return S_ISDIR(mode) ? BASE_DIRECTORY : BASE_SPECIAL;
}

static int hash_content(int host, const char *path, struct stat *status, uint8_t ret[SHA256_BYTES])
{
	struct stat after;
	int file = beneath_file(host, path, status);
	int error = file < 0 ? file : beneath_hash(file, ret);

	if (!error && (fstat(file, &after) != 0 ||
		       clock_ns_of(&after.st_ctim) != clock_ns_of(&status->st_ctim)))
		error = -ESTALE; /* somebody writes to it right now */
	fd_close(&file);
	return error;
}

/* Hash what a path is; unknown where that fails. */
static void add_hash(int host, const char *path, struct stat *status, struct base_record *record)
{
	int error = 0;

	if (record->kind == BASE_FILE)
		error = hash_content(host, path, status, record->hash);
	else if (record->kind == BASE_LINK)
		error = beneath_hash_link(host, path, record->hash);
	if (error)
		record->kind = BASE_UNKNOWN;
}

/* Look at the host's file; `is_hashed`: with its content, and as it is when that is read. `seen`:
 * what an earlier look found, which counts if that was a regular file; NULL: nothing. */
static void look_at_host(int host, const char *path, const struct stat *seen, bool is_hashed,
			 struct base_record *ret)
{
	struct timespec now = { 0 };
	struct stat status = { 0 };
	int error = 0;

	if (seen && S_ISREG(seen->st_mode))
		status = *seen;
	else
		error = beneath_look(host, path, &status);
	(void)clock_gettime(CLOCK_REALTIME, &now); /* it cannot fail */
	memset(ret, 0, sizeof(*ret));
	ret->noted_ns = clock_ns_of(&now);
	ret->kind = error ? BASE_UNKNOWN : kind_of(status.st_mode);
	if (is_hashed)
		add_hash(host, path, &status, ret);
	if (ret->kind == BASE_UNKNOWN || ret->kind == BASE_ABSENT)
		return;
	ret->mode = status.st_mode;
	ret->inode = status.st_ino;
	ret->device = status.st_dev;
	/* Each use of a FIFO changes its ctime. */
	ret->changed_ns =
		ret->kind == BASE_SPECIAL ? beneath_born(host, path) : clock_ns_of(&status.st_ctim);
	ret->length = ret->kind == BASE_FILE ? (uint64_t)status.st_size : 0;
}

struct note {
	const struct job_directories *directories;
	struct base_table table;
	uint64_t since_ns;
	uint64_t until_us; /* monotonic */
	int host_layer;    /* `old_layer` of what the host shows */
};

/* Has the host taken something out of the directory of a path, or put in, since the beginning? */
static bool has_parent_changed(const struct note *note, const char *path)
{
	char parent[IPC_PATH_MAX];
	struct stat status = { 0 };

	(void)snprintf(parent, sizeof(parent), "%s", path);
	while (status.st_mode == 0 && parent[0]) {
		char *slash = strrchr(parent, '/');

		*(slash ? slash : parent) = '\0';
		if (beneath_look(note->directories->host, parent, &status) != 0)
			return true;
	}
	return clock_ns_of(&status.st_ctim) + TICK_NS >= note->since_ns;
}

/* Did overlayfs copy this up, under this name or another, so that the host may have had it? */
static bool is_copy(const struct note *note, const struct difference *difference)
{
	int file;
	bool ret;

	if (!S_ISREG(difference->now.st_mode))
		return false;
	file = tree_open(note->directories, difference, false);
	ret = file >= 0 && fgetxattr(file, "user.overlay.origin", NULL, 0) >= 0;
	fd_close(&file);
	return ret;
}

/* Return whether the host's file may be another one than at the beginning of the execution. */
static bool may_be_new(const struct note *note, const struct base_record *record)
{
	const bool is_born = record->kind == BASE_SPECIAL;
	const uint64_t ns = is_born ? beneath_born_ns(record->changed_ns) : record->changed_ns;

	return (is_born || record->kind == BASE_FILE || record->kind == BASE_LINK) &&
	       ns + TICK_NS >= note->since_ns;
}

/* A path that the highest layer has or hides. */
static int note_one(void *context, const struct difference *difference)
{
	struct note *note = context;
	struct base_record record, known;

	if (clock_now_us() > note->until_us)
		return -ETIME;
	if (base_table_find(&note->table, difference->path, strlen(difference->path), &known))
		return 0;
	look_at_host(note->directories->host, difference->path, NULL, true, &record);
	/* A file that a layer below shows or hides should have been noted with it. */
	if (record.kind != BASE_ABSENT && difference->old_layer != note->host_layer)
		record.kind = BASE_UNKNOWN;
	if (may_be_new(note, &record))
		record.kind = BASE_UNKNOWN;
	if (record.kind == BASE_ABSENT &&
	    (difference->old.st_mode != 0 ||
	     (is_copy(note, difference) && has_parent_changed(note, difference->path))))
		record.kind = BASE_UNKNOWN;
	return base_table_add(&note->table, &record, difference->path);
}

int base_note(const struct job_directories *directories, uint64_t since_us)
{
	struct job_directories stack = *directories;
	struct note note = { .directories = directories,
			     .since_ns = since_us * 1000,
			     .until_us = clock_now_us() + NOTE_MOST_US };
	int error, written;

	if (directories->host < 0 || directories->layer_count == 0)
		return 0;
	stack.since_count = stack.layer_count - 1;
	memcpy(stack.since, stack.layers + 1, stack.since_count * sizeof(stack.since[0]));
	note.host_layer = (int)stack.since_count;
	error = base_table_read(&note.table, directories);
	if (!error) {
		error = tree_walk(&stack, note_one, &note);
		written = base_table_write(&note.table, directories->layers[0]);
		error = error ? error : written;
	}
	base_table_free(&note.table);
	return error;
}

/* One process does one job: the table is read once. */
static struct {
	struct base_table table;
	bool is_read;
	int error;
} kept;

void base_forget(void)
{
	base_table_free(&kept.table);
	kept.is_read = false;
}

/* Compare two files that were looked at with their content. */
static bool has_same_content(const struct base_record *one, const struct base_record *other)
{
	return one->kind == other->kind && memcmp(one->hash, other->hash, SHA256_BYTES) == 0;
}

static bool is_same(int host, const char *path, const struct stat *seen,
		    const struct base_record *base)
{
	struct base_record now;
	struct stat status;

	look_at_host(host, path, seen, false, &now);
	if (base->kind == BASE_UNKNOWN || now.kind != base->kind)
		return false;
	if (base->kind == BASE_ABSENT)
		return true;
	if (now.mode != base->mode || now.length != base->length)
		return false;
	if (base->kind == BASE_DIRECTORY)
		return true;
	if (base->kind == BASE_SPECIAL)
		return now.inode == base->inode && now.device == base->device &&
		       now.changed_ns == base->changed_ns;
	if (!(base->flags & BASE_IS_MERGED) && now.inode == base->inode &&
	    now.device == base->device && now.changed_ns == base->changed_ns &&
	    base->changed_ns + TICK_NS < base->noted_ns)
		return true;
	add_hash(host, path, &status, &now);
	return has_same_content(&now, base);
}

bool base_find(const struct job_directories *directories, const char *path, struct base_record *ret)
{
	if (!kept.is_read) {
		kept.error = base_table_read(&kept.table, directories);
		kept.is_read = true;
	}
	return !kept.error && base_table_find(&kept.table, path, strlen(path), ret);
}

static enum base_state check_path(const struct job_directories *directories, const char *path,
				  const struct stat *seen)
{
	const int host = directories->host;
	struct base_record base;
	struct stat status;

	if (base_find(directories, path, &base))
		return is_same(host, path, seen, &base) ? BASE_SAME : BASE_CHANGED;
	/* Without a file nothing can be lost. */
	return beneath_look(host, path, &status) == 0 && status.st_mode == 0 ? BASE_SAME
									     : BASE_CHANGED;
}

/* Return whether the host has the merged file, also after its user edited it in place: not the one
 * before it, because of an interrupted undo, and not another one, which may have its inode's
 * number. */
static bool is_merged_still(const struct base_record *base, int host,
			    const struct difference *difference)
{
	return (base->flags & BASE_IS_MERGED) && base->inode == difference->old.st_ino &&
	       base->changed_ns == beneath_born(host, difference->path);
}

/* Return whether the sandbox's file is what its base was. */
static bool is_untouched(const struct job_directories *directories,
			 const struct difference *difference)
{
	struct base_record base, now = { .kind = kind_of(difference->now.st_mode) };
	char target[IPC_PATH_MAX];
	int file, size;

	if (difference->old_path[0] || now.kind == BASE_ABSENT ||
	    !base_find(directories, difference->path, &base) ||
	    ((base.flags & BASE_IS_NEW) &&
	     !is_merged_still(&base, directories->host, difference)) ||
	    base.kind != now.kind || base.mode != difference->now.st_mode)
		return false;
	if (base.kind == BASE_LINK) {
		size = tree_link(directories, difference, false, target);
		sha256(target, size < 0 ? 0 : (size_t)size, now.hash);
	} else if (base.kind == BASE_FILE) {
		file = tree_open(directories, difference, false);
		if (file >= 0 && base.length == (uint64_t)difference->now.st_size)
			(void)beneath_hash(file, now.hash); /* else it is no file's hash */
		fd_close(&file);
	}
	return base.kind == BASE_DIRECTORY || has_same_content(&base, &now);
}

enum base_state base_check(const struct job_directories *directories,
			   const struct difference *difference)
{
	enum base_state ret = BASE_SAME;

	if (directories->host < 0 || directories->since_count > 0)
		return BASE_SAME;
	/* An apply brings a file only where the host's still is as the comparison saw it. */
	ret = check_path(directories, difference->path,
			 difference->old_path[0] ? NULL : &difference->old);
	if (ret == BASE_SAME && difference->old_path[0])
		ret = check_path(directories, difference->old_path, &difference->old);
	return ret == BASE_CHANGED && is_untouched(directories, difference) ? BASE_UNTOUCHED : ret;
}

uint32_t base_flags(const struct difference *difference, enum base_state state)
{
	const mode_t old = difference->old.st_mode;

	if (state != BASE_CHANGED || (difference->flags & CHANGE_IS_REFUSED))
		return 0;
	/* A special file that stays loses nothing, and a service may listen on it. */
	return difference->now.st_mode == 0 && (S_ISFIFO(old) || S_ISSOCK(old))
		       ? CHANGE_IS_REFUSED
		       : CHANGE_IS_CONFLICT;
}

/* Is a record what an apply said of what it made? What lies there now may also be another file with
 * the same content: nobody knows, and it stays a conflict. */
static bool is_of_apply(const struct base_record *record, const struct journal_side *made)
{
	return (record->flags & BASE_IS_NEW) && record->inode == made->inode &&
	       (record->mode & (S_IFMT | 0777U)) == made->mode;
}

/* Was it said already, by an apply that was killed right behind that? What it said it of counts for
 * an undo, and would be lost if it were said again. */
static bool is_said(const struct base_record *said, const struct base_record *now)
{
	return (said->flags & BASE_IS_NEW) && said->mode == now->mode &&
	       said->inode == now->inode && said->device == now->device &&
	       has_same_content(said, now);
}

/* Replace the content of a base, which is the merged file of the host, by that of the sandbox's
 * file, its side of the merge; BASE_UNKNOWN if it cannot be read. */
static void take_sandboxes_side(const struct job_directories *directories, const char *path,
				struct base_record *record)
{
	char below[sizeof(WORKSPACE_NAME "/") + IPC_PATH_MAX];
	struct stat status = { 0 };
	int file = -ENOENT;

	(void)snprintf(below, sizeof(below), WORKSPACE_NAME "/%s", path);
	for (uint32_t i = 0; i < directories->layer_count && file == -ENOENT; i++)
		file = beneath_file(directories->layers[i], below, &status);
	if (file < 0 || beneath_hash(file, record->hash) != 0)
		record->kind = BASE_UNKNOWN;
	fd_close(&file);
	record->length = (uint64_t)status.st_size;
	record->changed_ns = beneath_born(directories->host, path);
}

/* Find the new base of a path; false: it stays as it is. */
static bool find_new(const struct base_table *table, const struct job_directories *directories,
		     const struct base_change *change, struct base_record *ret)
{
	static const struct stat file = { .st_mode = S_IFREG };
	const int host = directories->host;
	struct base_record said, now;
	const bool is_known = base_table_history(table, change->path, &said, ret);

	look_at_host(host, change->path, change->is_file ? &file : NULL, true, &now);
	if (change->is_merged)
		take_sandboxes_side(directories, change->path, &now);
	if (!change->was) {
		*ret = now;
		return !is_known || !is_said(&said, &now);
	}
	if (!is_known || !is_of_apply(&said, change->was))
		return false;
	/* An undo that was killed right behind that said it, of a file with the number of an inode
	 * that came again. */
	if (said.mode == now.mode && has_same_content(&said, &now))
		return false;
	if (ret->kind == 0) {
		look_at_host(host, change->path, NULL, false, ret);
		ret->kind = ret->kind == BASE_ABSENT ? BASE_ABSENT : BASE_UNKNOWN;
	}
	return true;
}

int base_renew(const struct job_directories *directories, const struct base_change *changes,
	       size_t count)
{
	struct base_table table = { 0 };
	int error = 0;

	if (directories->host < 0 || directories->layer_count == 0)
		return 0;
	error = base_table_read(&table, directories);
	for (size_t i = 0; i < count && !error; i++) {
		struct base_record record;

		if (!find_new(&table, directories, &changes[i], &record))
			continue;
		record.flags = BASE_IS_NEW | (changes[i].is_merged ? BASE_IS_MERGED : 0);
		error = base_table_add(&table, &record, changes[i].path);
	}
	if (!error)
		error = base_table_write(&table, directories->layers[0]);
	base_table_free(&table);
	base_forget();
	return error;
}
