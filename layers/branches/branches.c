/* SPDX-License-Identifier: Apache-2.0 */
#include "branches.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/ipc/ipc_changes.h"
#include "common/records/changes.h"
#include "layers/base/beneath.h"
#include "layers/base/files.h"
#include "layers/reader/refs.h"
#include "layers/reader/tree_names.h"
#include "lib/heap/grow.h"
#include "state.h"

#define OURS GIT "refs/msp/"

/* A loose ref has 41 bytes, HEAD the name of a branch. */
#define REF_BYTES_MAX IPC_PATH_MAX

struct branches branches;

bool branches_is_branch(const struct commits_ref *ref)
{
	return strncmp(ref->path, GIT HEADS, GIT_SIZE + HEADS_SIZE) == 0;
}

bool branches_is_below(const char *name, const char *above)
{
	const size_t size = strlen(above);

	return strncmp(name, above, size) == 0 && name[size] == '/';
}

bool branches_place(const struct job *job, const char *name, char ret[IPC_PATH_MAX])
{
	const bool is_branch = strncmp(name, HEADS, HEADS_SIZE) == 0;
	const char *shown = is_branch                        ? name + HEADS_SIZE
			    : strncmp(name, "refs/", 5) == 0 ? name + 5
							     : name;
	const int size = is_branch && (job->ask->flags & CHANGES_BRANCHES)
				 ? snprintf(ret, IPC_PATH_MAX, GIT "%s", name)
				 : snprintf(ret, IPC_PATH_MAX, OURS "%s/%s", job->ask->name, shown);

	return size > 0 && size < IPC_PATH_MAX;
}

/* --- the host's refs -------------------------------------------------------------------------- */

int branches_read(const struct job *job, const char *name, uint8_t ret[OBJECT_ID_BYTES])
{
	const int host = job->directories.host;
	char path[IPC_PATH_MAX];
	int error;

	if (snprintf(path, sizeof(path), GIT "%s", name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	error = refs_read(host, path, REF_BYTES_MAX, ret);
	return error == -ENOENT || error == -ENOTDIR || error == -ESTALE /* a directory */
		       ? refs_find_packed(host, GIT "packed-refs", name, ret)
		       : error;
}

void branches_bases(const struct job *job, const char *name, uint8_t ret[2][OBJECT_ID_BYTES])
{
	char head[IPC_PATH_MAX];

	memset(ret, 0, (size_t)2 * OBJECT_ID_BYTES);
	if (branches_read_head(job, head) != 0 ||
	    branches_read(job, head[0] ? head : "HEAD", ret[1]) != 0)
		memset(ret[1], 0, OBJECT_ID_BYTES);
	if (strncmp(name, HEADS, HEADS_SIZE) != 0 || branches_read(job, name, ret[0]) != 0)
		memcpy(ret[0], ret[1], OBJECT_ID_BYTES);
}

bool branches_has(const struct job *job, const char *name, const uint8_t id[OBJECT_ID_BYTES])
{
	uint8_t found[OBJECT_ID_BYTES];

	return strncmp(name, HEADS, HEADS_SIZE) == 0 && branches_read(job, name, found) == 0 &&
	       memcmp(found, id, sizeof(found)) == 0;
}

int branches_read_head(const struct job *job, char ret[IPC_PATH_MAX])
{
	char *text;
	const char *name;
	size_t size;
	int error = beneath_text(job->directories.host, GIT "HEAD", REF_BYTES_MAX, &text, &size);

	ret[0] = '\0';
	if (error)
		return error;
	name = strncmp(text, "ref:", 4) == 0 ? text + 4 + strspn(text + 4, " \t") : "";
	(void)snprintf(ret, IPC_PATH_MAX, "%.*s", (int)strcspn(name, " \t\r\n"), name);
	free(text);
	return 0;
}

int branches_head(const struct job *job, char ret[IPC_PATH_MAX])
{
	const int error = branches_read_head(job, ret);

	return error ? error : ret[0] ? 0 : -ENOENT;
}

/* --- the work tree ---------------------------------------------------------------------------- */

void branches_note_left(const struct job *job, const char *path)
{
	if (job->ask->flags & CHANGES_BRANCHES)
		branches.is_lost |= !grow_text(&branches.left, &branches.left_room,
					       &branches.left_count, sizeof(*branches.left), path);
}

static bool is_left(const char *path)
{
	if (!branches.is_sorted)
		list_sort(branches.left, branches.left_count, sizeof(*branches.left));
	branches.is_sorted = true;
	return list_find(path, branches.left, branches.left_count, sizeof(*branches.left));
}

bool branches_is_blob(const uint8_t id[OBJECT_ID_BYTES], const char *bytes, size_t size)
{
	uint8_t found[OBJECT_ID_BYTES];

	return library_hash(OBJECT_BLOB, (const uint8_t *)bytes, size, found) == 0 &&
	       memcmp(found, id, sizeof(found)) == 0;
}

/* Return whether the work tree will have the file that a change brings. `file`: what comes to its
 * path, and closed; -ENOENT: nothing does. */
static bool is_in_work_tree(const struct job *job, const struct index_change *change, int file)
{
	const uint8_t *id = change->file.new_id;
	char target[IPC_PATH_MAX];
	struct stat status = { 0 };
	char *text;
	size_t size;
	bool is_same;

	if (file == -ENOENT && change->file.new_mode == TREE_LINK) {
		const int length = beneath_link(job->directories.host, change->path, target);

		return length >= 0 && branches_is_blob(id, target, (size_t)length);
	}
	if (file == -ENOENT)
		file = beneath_file(job->directories.host, change->path, &status);
	if (beneath_text_of(file, OBJECT_BYTES_MAX, &text, &size) != 0)
		return false;
	is_same = branches_is_blob(id, text, size);
	free(text);
	return is_same;
}

/* Return whether git could write what a change brings to the index, and that is host-executed, or a
 * link. */
static bool is_risky(const struct job *job, const struct index_change *change,
		     const struct branches_apply *apply)
{
	const uint32_t mode = change->file.new_mode;

	return mode != 0 && mode != TREE_COMMIT &&
	       (mode == TREE_LINK || (apply->held(job, change->path, NULL) & CHANGE_IS_HELD));
}

void branches_follow(const struct job *job, size_t number, const struct branches_apply *apply)
{
	struct commits_ref *ref = &commits.refs[number];

	if (ref->is_checked_out && !ref->refusal && branches.is_lost)
		ref->refusal = "there is not enough memory";
	for (size_t i = 0; i < branches.changes.count && ref->is_checked_out && !ref->refusal;
	     i++) {
		const struct index_change *change = &branches.changes.all[i];
		const bool is_asked = is_risky(job, change, apply);
		int file = -ENOENT;

		if (apply->look(apply->context, change->path, is_asked ? &file : NULL) ==
			    BRANCHES_STAYS ||
		    is_left(change->path))
			ref->refusal = "it is checked out, and not all of its files would be "
				       "applied";
		if (is_asked && !is_in_work_tree(job, change, file) && !ref->refusal)
			ref->refusal = "it is checked out, and the work tree lacks a host-executed "
				       "file as it is committed";
	}
}

/* --- its files -------------------------------------------------------------------------------- */

size_t branches_file_count(void)
{
	return branches.file_count;
}

const struct branches_file *branches_file(size_t number)
{
	return &branches.files[number];
}

bool branches_is_locked(const struct job *job, const struct commits_ref *ref)
{
	char path[IPC_PATH_MAX];
	struct stat status;

	if (snprintf(path, sizeof(path), "%s.lock", ref->path) >= (int)sizeof(path) ||
	    beneath_look(job->directories.host, path, &status) != 0 || status.st_mode != 0)
		return true;
	return ref->is_checked_out &&
	       (beneath_look(job->directories.host, INDEX_PATH ".lock", &status) != 0 ||
		status.st_mode != 0 ||
		beneath_look(job->directories.host, GIT "HEAD.lock", &status) != 0 ||
		status.st_mode != 0);
}

/* git takes the lock of a ref before it reads the ref: one that has read the old commit has the
 * lock still, or has written by now. */
int branches_settle(const struct job *job, size_t number)
{
	const struct commits_ref *ref = &commits.refs[number];
	uint8_t found[OBJECT_ID_BYTES];
	char head[IPC_PATH_MAX];

	if (!branches_is_branch(ref))
		return 0;
	if (branches_is_locked(job, ref) || branches_read_head(job, head) != 0 ||
	    ref->is_checked_out != (strcmp(head, ref->path + GIT_SIZE) == 0) ||
	    branches_read(job, ref->path + GIT_SIZE, found) != 0 ||
	    memcmp(found, ref->id, sizeof(found)) != 0)
		return -ESTALE;
	return 0;
}

bool branches_has_index(const struct job_directories *directories, const struct journal_side *side)
{
	uint8_t hash[SHA256_BYTES];
	uint8_t *bytes;
	char *text;
	size_t size;
	int error = beneath_text(directories->host, INDEX_PATH, INDEX_BYTES_MAX, &text, &size);

	if (error)
		return false;
	error = index_edit((const uint8_t *)text, size, NULL, 0, &bytes, &size);
	free(text);
	if (error)
		return false;
	files_hash(bytes, size, hash);
	free(bytes);
	return size == side->size && memcmp(hash, side->hash, sizeof(hash)) == 0;
}

void branches_end(void)
{
	for (size_t i = 0; i < branches.file_count; i++)
		free(branches.files[i].bytes);
	list_free(branches.files, branches.file_count, sizeof(*branches.files));
	list_free(branches.changes.all, branches.changes.count, sizeof(*branches.changes.all));
	list_free(branches.committed.all, branches.committed.count,
		  sizeof(*branches.committed.all));
	list_free(branches.left, branches.left_count, sizeof(*branches.left));
	branches = (struct branches){ 0 };
}
