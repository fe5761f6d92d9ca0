/* SPDX-License-Identifier: Apache-2.0
 *
 * May a branch of the host move? The way to the new commit is proven here, commit by commit; the
 * reader only finds it. Its list of files is believed no further than their names go.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/fd.h"
#include "layers/base/beneath.h"
#include "layers/base/gitpath.h"
#include "layers/reader/refs.h"
#include "layers/reader/tree_names.h"
#include "lib/heap/grow.h"
#include "state.h"

/* A larger log is not copied. */
#define LOG_BYTES_MAX ((size_t)64 << 20)

/* The line of a log, without the sandbox's name. */
#define LINE_MAX_BYTES 256

/* Files in .git while git is at something that a moved branch would spoil. */
static const char *const acts[] = { "MERGE_HEAD",   "CHERRY_PICK_HEAD", "REVERT_HEAD",
				    "rebase-merge", "rebase-apply",     "sequencer",
				    "BISECT_START" };

static bool is_under_way(const struct job *job)
{
	char path[64];
	struct stat status;

	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		(void)snprintf(path, sizeof(path), GIT "%s", acts[i]);
		if (beneath_look(job->directories.host, path, &status) != 0 || status.st_mode != 0)
			return true;
	}
	return false;
}

/* --- other work trees ------------------------------------------------------------------------- */

/* Return whether a file of another work tree names the branch, or cannot be read. */
static bool file_names(const struct job *job, const char *tree, const char *file, const char *name)
{
	char path[IPC_PATH_MAX];
	char *text;
	const char *at;
	size_t size;
	int error =
		snprintf(path, sizeof(path), GIT "worktrees/%s/%s", tree, file) < (int)sizeof(path)
			? beneath_text(job->directories.host, path, IPC_PATH_MAX, &text, &size)
			: -ENAMETOOLONG;
	bool is_named;

	if (error)
		return error != -ENOENT && error != -ENOTDIR;
	at = strncmp(text, "ref:", 4) == 0 ? text + 4 + strspn(text + 4, " \t") : text;
	size = strcspn(at, " \t\r\n");
	is_named = (size == strlen(name) && strncmp(at, name, size) == 0) ||
		   (size == strlen(name + HEADS_SIZE) && strncmp(at, name + HEADS_SIZE, size) == 0);
	free(text);
	return is_named;
}

static bool is_in_other_tree(const struct job *job, const char *name)
{
	static const char *const files[] = { "HEAD", "rebase-merge/head-name",
					     "rebase-apply/head-name", "BISECT_START" };
	struct beneath_names trees = { 0 };
	int directory = beneath_directory(job->directories.host, GIT "worktrees");
	bool is_named = directory < 0 && directory != -ENOENT;
	int error = directory < 0 ? 0 : beneath_names_read(&trees, directory);

	for (size_t i = 0; i < trees.count && !error && !is_named; i++) {
		for (size_t file = 0; file < sizeof(files) / sizeof(files[0]); file++)
			is_named |= file_names(job, trees.names[i], files[file], name);
	}
	beneath_names_free(&trees);
	fd_close(&directory);
	return is_named || error;
}

/* --- a new branch ----------------------------------------------------------------------------- */

/* Return whether a branch cannot be made because its name is a directory of another, or the
 * reverse. */
static bool is_blocked(const struct job *job, const char *name)
{
	char path[IPC_PATH_MAX];
	struct stat status;
	char *text, *at;
	const char *other;
	uint8_t id[OBJECT_ID_BYTES];
	size_t size;
	bool found = false;
	int error;

	(void)snprintf(path, sizeof(path), GIT "%s", name); /* it is a ref's path */
	if (beneath_look(job->directories.host, path, &status) != 0 || status.st_mode != 0)
		return true;
	error = beneath_text(job->directories.host, GIT "packed-refs", REFS_PACKED_MAX, &text,
			     &size);
	if (error)
		return error != -ENOENT;
	for (at = text; !found && refs_next(&at, text + size, &other, id);)
		found = branches_is_below(other, name) || branches_is_below(name, other);
	free(text);
	return found;
}

/* --- the way ---------------------------------------------------------------------------------- */

/* Return whether a commit has this one among its parents. */
static bool has_parent(const char *commit, const uint8_t id[OBJECT_ID_BYTES])
{
	uint8_t parent[OBJECT_ID_BYTES];

	if (!refs_take_line(&commit, "tree ", parent))
		return false;
	while (refs_take_line(&commit, "parent ", parent)) {
		if (memcmp(parent, id, sizeof(parent)) == 0)
			return true;
	}
	return false;
}

/* Take a step: a commit whose parent is the one before. */
static int hear_commit(void *context, const struct reader_tell *tell, const uint8_t *bytes)
{
	uint8_t *last = context;

	if (tell->kind != READER_OBJECT || tell->count != OBJECT_COMMIT ||
	    !has_parent((const char *)bytes, last))
		return -EPROTO;
	return library_hash(OBJECT_COMMIT, bytes, tell->size, last);
}

static int ask_between(uint32_t kind, const uint8_t now[OBJECT_ID_BYTES],
		       const uint8_t old[OBJECT_ID_BYTES], commits_heard heard, void *context)
{
	static struct reader_ask ask;

	ask = (struct reader_ask){ .kind = kind };
	memcpy(ask.id, now, sizeof(ask.id));
	memcpy(ask.old, old, sizeof(ask.old));
	return commits_ask(&ask, NULL, heard, context, NULL);
}

/* 0; -ESTALE: the old commit is no ancestor of the new one; another -errno. */
static int check_way(const struct commits_ref *ref, const uint8_t old[OBJECT_ID_BYTES])
{
	uint8_t last[OBJECT_ID_BYTES];
	int error;

	memcpy(last, old, sizeof(last));
	error = ask_between(READER_CHAIN, ref->id, old, hear_commit, last);
	return error ? error : memcmp(last, ref->id, sizeof(last)) == 0 ? 0 : -EPROTO;
}

/* --- the files that go along ------------------------------------------------------------------ */

/* Add a file, whose bytes it takes over. */
static int add_file(size_t ref, const char *path, const struct stat *old, uint8_t *bytes,
		    size_t size)
{
	struct branches_file *file = grow_text(&branches.files, &branches.file_room,
					       &branches.file_count, sizeof(*file), path);

	if (!file) {
		free(bytes);
		return -ENOMEM;
	}
	*file = (struct branches_file){ file->path, ref, *old, bytes, size };
	return 0;
}

/* Add a line to the log of a branch's values or of HEAD's. Where git keeps none, neither does msp:
 * a branch gets its first log if HEAD has one. */
static int add_log(const struct job *job, size_t number, const uint8_t old[OBJECT_ID_BYTES],
		   const char *name, bool is_new)
{
	char path[IPC_PATH_MAX], before[HEX_BYTES + 1], after[HEX_BYTES + 1];
	char line[LINE_MAX_BYTES + IPC_NAME_MAX];
	struct stat status = { 0 }, other;
	char *text = NULL;
	size_t size = 0, room = 0;
	int error = snprintf(path, sizeof(path), GIT "logs/%s", name) < (int)sizeof(path)
			    ? beneath_text_of(beneath_file(job->directories.host, path, &status),
					      LOG_BYTES_MAX, &text, &size)
			    : -ENAMETOOLONG;
	int more;

	if (error == -ENOENT || error == -ENOTDIR) {
		status = (struct stat){ 0 };
		error = beneath_look(job->directories.host, GIT "logs/HEAD", &other);
		if (error || other.st_mode == 0)
			return error;
	} else if (error) {
		return error;
	}
	refs_write_id(old, before);
	refs_write_id(commits.refs[number].id, after);
	more = snprintf(line, sizeof(line),
			"%s %s msp <msp@localhost> %lld +0000\tmsp apply %s: %s\n", before, after,
			(long long)time(NULL), job->ask->name, is_new ? "Created" : "Fast-forward");
	if (!grow_bytes(&text, &room, &size, line, (size_t)more)) {
		free(text);
		return -ENOMEM;
	}
	return add_file(number, path, &status, (uint8_t *)text, size);
}

/* Only names that git itself would check out may come into the index. */
static bool is_good_file(const struct reader_file *file, const char *path, size_t size)
{
	return strlen(path) == size && size > 0 && journal_check_path(path) == 0 &&
	       gitpath_repository(path) == 0 && file->old_mode != TREE_DIRECTORY &&
	       file->new_mode != TREE_DIRECTORY;
}

static int hear_file(void *context, const struct reader_tell *tell, const uint8_t *bytes)
{
	struct changed_files *files = context;
	struct index_change *change;
	struct reader_file file;
	const char *path = (const char *)bytes + sizeof(file);

	if (tell->kind != READER_FILE || tell->size <= sizeof(file))
		return -EPROTO;
	memcpy(&file, bytes, sizeof(file));
	if (!is_good_file(&file, path, tell->size - sizeof(file)))
		return -EBADMSG;
	change = grow_text(&files->all, &files->room, &files->count, sizeof(*change), path);
	if (!change)
		return -ENOMEM;
	change->file = file;
	return 0;
}

int branches_compare(const uint8_t now[OBJECT_ID_BYTES], const uint8_t old[OBJECT_ID_BYTES],
		     struct changed_files *ret)
{
	const int error = ask_between(READER_FILES, now, old, hear_file, ret);

	if (!error)
		list_sort(ret->all, ret->count, sizeof(*ret->all));
	return error;
}

static int add_index(const struct job *job, size_t number, const uint8_t old[OBJECT_ID_BYTES])
{
	struct stat status;
	char *text;
	uint8_t *bytes;
	size_t size;
	int error = branches_compare(commits.refs[number].id, old, &branches.changes);

	if (!error)
		error = beneath_text_of(beneath_file(job->directories.host, INDEX_PATH, &status),
					INDEX_BYTES_MAX, &text, &size);
	if (error)
		return error;
	error = index_edit((const uint8_t *)text, size, branches.changes.all,
			   branches.changes.count, &bytes, &size);
	free(text);
	return error ? error : add_file(number, INDEX_PATH, &status, bytes, size);
}

/* --- the judgement ---------------------------------------------------------------------------- */

/* Return whether the sandbox has the same branch checked out as the host: its files are the
 * branch's only then. */
static bool is_same_head(void)
{
	for (size_t i = 0; i < commits.change_count; i++) {
		if (strcmp(commits.changes[i].path, "HEAD") == 0)
			return false;
	}
	return true;
}

static const char *obstacle_of(const struct job *job, const struct commits_ref *ref)
{
	if (is_under_way(job))
		return "a merge, rebase, bisect or the like is under way here";
	if (branches_is_locked(job, ref))
		return "git is at work on it: there is a .lock file";
	if (ref->is_checked_out && !is_same_head())
		return "it is checked out here, and another one in the sandbox";
	return is_in_other_tree(job, ref->path + GIT_SIZE)
		       ? "another work tree of this machine has it checked out"
		       : NULL;
}

static const char *explain_index(int error)
{
	return error == -ESTALE ? "it is checked out, and its index has other changes of the files"
	       : error == -ENOTSUP
		       ? "it is checked out, and its index is split, sparse or in conflict"
		       : "it is checked out, and its index cannot be read";
}

static int judge_new(const struct job *job, struct commits_ref *ref, size_t number)
{
	static const uint8_t none[OBJECT_ID_BYTES];

	if (ref->is_checked_out)
		ref->refusal = "it is checked out, and has no commit yet";
	else if (is_blocked(job, ref->path + GIT_SIZE))
		ref->refusal =
			"a branch here has a name of which this one is a part, or the reverse";
	return ref->refusal ? 0 : add_log(job, number, none, ref->path + GIT_SIZE, true);
}

static int judge_old(const struct job *job, struct commits_ref *ref, size_t number,
		     const uint8_t old[OBJECT_ID_BYTES])
{
	int error = check_way(ref, old);

	if (error) {
		ref->refusal = error == -ESTALE
				       ? "no fast-forward: the branch has other commits here"
				       : "no fast-forward can be proven: the history is damaged, "
					 "or too long";
		return 0;
	}
	error = ref->is_checked_out ? add_index(job, number, old) : 0;
	if (error) {
		ref->refusal = explain_index(error);
		return 0;
	}
	error = add_log(job, number, old, ref->path + GIT_SIZE, false);
	if (!error && ref->is_checked_out)
		error = add_log(job, number, old, "HEAD", false);
	return error;
}

int branches_judge(const struct job *job, size_t number)
{
	struct commits_ref *ref = &commits.refs[number];
	uint8_t old[OBJECT_ID_BYTES];
	char head[IPC_PATH_MAX];
	int error;

	if (!branches_is_branch(ref) || ref->error)
		return 0;
	if (branches_read_head(job, head) != 0) {
		ref->refusal = "HEAD cannot be read here";
		return 0;
	}
	ref->is_checked_out = strcmp(head, ref->path + GIT_SIZE) == 0;
	ref->refusal = obstacle_of(job, ref);
	if (ref->refusal)
		return 0;
	error = branches_read(job, ref->path + GIT_SIZE, old);
	if (error == -ENOENT)
		error = judge_new(job, ref, number);
	else if (!error)
		error = judge_old(job, ref, number, old);
	if (error == -ENOMEM || commits.requests < 0)
		return error ? error : commits.error;
	if (error)
		ref->refusal = "the branch or its log cannot be read here";
	return 0;
}
