/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/branches/commits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/records/changes.h"
#include "layers/base/beneath.h"
#include "layers/base/gitpath.h"
#include "layers/base/held.h"
#include "layers/branches/state.h"
#include "layers/changes/commits_state.h"
#include "layers/reader/refs.h"
#include "layers/reader/tree_names.h"
#include "lib/heap/grow.h"

#define REFS GIT "refs/"

/* --- which refs ------------------------------------------------------------------------------- */

static int remember_change(const struct difference *difference)
{
	struct commits_change *change =
		grow_text(&commits.changes, &commits.change_room, &commits.change_count,
			  sizeof(*change), difference->path + GIT_SIZE);

	if (!change)
		return -ENOMEM;
	change->source = difference->kind == CHANGE_DELETED ? -1 : difference->layer;
	return 0;
}

/* Return whether a file of git's data names a commit of a repository below, of a submodule or of a
 * linked worktree. A HEAD that does is as long as a hash and its line's end; a log is longer. */
static bool is_commit_below(const struct difference *difference, size_t repository)
{
	const struct stat *status = difference->now.st_mode ? &difference->now : &difference->old;
	const char *rest = difference->path + repository, *last = strrchr(rest, '/');
	const bool is_below = repository > sizeof(".git") - 1;

	if (is_below && strncmp(rest, "/refs/heads/", 12) == 0)
		return true;
	if (!is_below && strncmp(rest, "/modules/", 9) != 0 &&
	    strncmp(rest, "/worktrees/", 11) != 0)
		return false;
	return S_ISREG(status->st_mode) && (status->st_size == 41 || status->st_size == 65) &&
	       last && (strcmp(last, "/HEAD") == 0 || strstr(rest, "/refs/heads/"));
}

enum commits_fate commits_judge(const struct difference *difference)
{
	const char *path = difference->path;
	const size_t repository = gitpath_repository(path);

	if (repository == 0)
		return COMMITS_ELSEWHERE;
	/* A link or file in its place was replaced when the sandbox was made (foreign/prepare.c).
	 */
	if (strcmp(path, ".git") == 0 && difference->old.st_mode != 0 &&
	    !S_ISDIR(difference->old.st_mode))
		return commits.is_moved ? COMMITS_STAYS : COMMITS_DATA;
	if (commits.stays[0] && branches_is_below(path, commits.stays))
		return COMMITS_DATA;
	if (gitpath_is_data(path)) {
		if (strncmp(path, GIT, GIT_SIZE) == 0 &&
		    (S_ISREG(difference->now.st_mode) || S_ISREG(difference->old.st_mode)) &&
		    (strncmp(path, REFS, sizeof(REFS) - 1) == 0 ||
		     strcmp(path, GIT "packed-refs") == 0 || strcmp(path, GIT "HEAD") == 0) &&
		    remember_change(difference) != 0)
			commits.error = -ENOMEM;
		/* Commits of a repository below stay; without a line they would be forgotten. */
		return is_commit_below(difference, repository) ? COMMITS_STAYS : COMMITS_DATA;
	}
	/* One line stands for a folder that came or went with all that is in it. */
	if (difference->kind == CHANGE_ADDED || difference->kind == CHANGE_DELETED ||
	    difference->kind == CHANGE_TYPE)
		(void)stpcpy(commits.stays, path);
	return COMMITS_STAYS;
}

static int keep_id(void *context, const struct reader_tell *tell, const uint8_t *bytes)
{
	memcpy(context, tell->id, OBJECT_ID_BYTES);
	return 0;
}

static int read_ref(const char *path, uint32_t source, uint8_t ret[OBJECT_ID_BYTES])
{
	static struct reader_ask ask;

	ask = (struct reader_ask){ .kind = READER_REF, .source = source };
	(void)snprintf(ask.path, sizeof(ask.path), "%s", path);
	return commits_ask(&ask, NULL, keep_id, ret, NULL);
}

static bool is_hosts_already(const struct job *job, const char *path,
			     const uint8_t id[OBJECT_ID_BYTES], struct stat *ret_old)
{
	uint8_t found[OBJECT_ID_BYTES];

	if (beneath_look(job->directories.host, path, ret_old) != 0 || ret_old->st_mode == 0)
		return false;
	return read_ref(path + GIT_SIZE, job->directories.layer_count, found) == 0 &&
	       memcmp(found, id, sizeof(found)) == 0;
}

static int append_ref(const char *text, const struct commits_ref *new)
{
	struct commits_ref *ref =
		grow_text(&commits.refs, &commits.ref_room, &commits.ref_count, sizeof(*ref), text);
	char *path = ref ? ref->path : NULL;

	if (!ref)
		return -ENOMEM;
	*ref = *new;
	ref->path = path;
	return 0;
}

/* Count a ref that is not looked at, and list the first. */
static int add_rest(const char *path)
{
	static struct commits_ref ref;

	ref.error = -EUSERS;
	return commits.rest++ > 0 ? 0 : append_ref(path, &ref);
}

/* Return whether a ref has the path, or one above or below: `tags/v1` is a branch's name, too. */
static bool is_taken(const char *path)
{
	bool is_taken = false;

	for (size_t i = 0; i < commits.ref_count && !is_taken; i++)
		is_taken = strcmp(path, commits.refs[i].path) == 0 ||
			   branches_is_below(path, commits.refs[i].path) ||
			   branches_is_below(commits.refs[i].path, path);
	return is_taken;
}

static int add_ref(const struct job *job, const char *name, const uint8_t id[OBJECT_ID_BYTES])
{
	static struct commits_ref ref;
	char path[IPC_PATH_MAX];

	memset(&ref, 0, sizeof(ref));
	if (!branches_place(job, name, path) || !job_is_chosen(job, path) ||
	    branches_has(job, name, id) || is_hosts_already(job, path, id, &ref.old))
		return 0;
	if (commits.ref_count - (commits.rest > 0) == COMMITS_REFS_MAX)
		return add_rest(path);
	ref.error = is_taken(path) ? -EEXIST : 0;
	memcpy(ref.id, id, sizeof(ref.id));
	branches_bases(job, name, ref.bases);
	return append_ref(path, &ref);
}

static const struct commits_change *find_change(const char *name)
{
	return list_find(name, commits.changes, commits.change_count, sizeof(*commits.changes));
}

/* A line of packed-refs counts where no loose ref of the sandbox hides it, and the host's loose one
 * is another. */
static int hear_packed(void *context, const struct reader_tell *tell, const uint8_t *bytes)
{
	const char *name = (const char *)bytes;
	const struct commits_change *change = find_change(name);
	struct commits_packed *packed;
	char path[IPC_PATH_MAX];

	if (!refs_is_name(name) || (change && change->source >= 0))
		return 0;
	if (commits.packed_count == COMMITS_PACKED_MAX)
		return branches_place(context, name, path) ? add_rest(path) : 0;
	packed = grow_text(&commits.packed, &commits.packed_room, &commits.packed_count,
			   sizeof(*packed), name);
	if (!packed)
		return -ENOMEM;
	memcpy(packed->id, tell->id, OBJECT_ID_BYTES);
	packed->is_deleted = change != NULL;
	return 0;
}

static int add_packed(struct job *job, uint32_t source)
{
	const struct reader_ask ask = { .kind = READER_PACKED, .source = source };
	uint8_t id[OBJECT_ID_BYTES];
	int error = commits_ask(&ask, NULL, hear_packed, job, NULL);

	for (size_t i = 0; i < commits.packed_count && !error; i++) {
		const struct commits_packed *packed = &commits.packed[i];
		const int hosts = read_ref(packed->name, job->directories.layer_count, id);

		/* The host's loose ref is what the sandbox sees, unless it deleted that. */
		if (hosts == 0 && (!packed->is_deleted || memcmp(id, packed->id, sizeof(id)) == 0))
			continue;
		error = add_ref(job, packed->name, packed->id);
	}
	return error;
}

static int add_changed(struct job *job, const struct commits_change *change)
{
	uint8_t id[OBJECT_ID_BYTES];
	int error;

	if (change->source < 0)
		return 0;
	if (strcmp(change->path, "packed-refs") == 0)
		return add_packed(job, (uint32_t)change->source);
	if (strcmp(change->path, "HEAD") != 0 && !refs_is_name(change->path))
		return 0;
	error = read_ref(change->path, (uint32_t)change->source, id);
	if (error == -ENOTSUP || error == -EBADMSG || error == -ENOENT || error == -ESTALE)
		return 0; /* it names another ref, or is none */
	return error ? error : add_ref(job, change->path, id);
}

/* --- what a ref brings ------------------------------------------------------------------------ */

struct looking {
	const struct job *job;
	struct commits_ref *ref;
};

static int hear_path(void *context, const struct reader_tell *tell, const uint8_t *bytes)
{
	const struct looking *looking = context;
	struct commits_ref *ref = looking->ref;
	const char *path = (const char *)bytes;
	const size_t size = strlen(path);
	const char *target = size < tell->size ? path + size + 1 : NULL;

	if (tell->kind != READER_PATH || size == 0 || size >= IPC_PATH_MAX ||
	    (target && strlen(target) >= IPC_PATH_MAX))
		return tell->kind == READER_OBJECT ? 0 : -EPROTO;
	if (gitpath_repository(path) > 0) /* as a file system spells it that ignores characters */
		return -EBADMSG;
	/* The files of a submodule's commit are in another repository, and unknown; so is what
	 * the host lacks. */
	if (tell->count != TREE_COMMIT && tell->count != TREE_LACKING &&
	    !(held_entry_flags(looking->job, path, target) & CHANGE_IS_HELD))
		return 0;
	if (ref->held++ < COMMITS_NAMED_MAX && ref->named_size + size + 3 < sizeof(ref->named))
		ref->named_size += (size_t)snprintf(ref->named + ref->named_size,
						    sizeof(ref->named) - ref->named_size, "%s%s",
						    ref->named_size ? ", " : "", path);
	else
		ref->unnamed++;
	return 0;
}

static int look_into(const struct job *job, struct commits_ref *ref)
{
	struct looking looking = { job, ref };
	static struct reader_ask ask;

	ask = (struct reader_ask){ .kind = READER_WALK };
	memcpy(ask.id, ref->id, sizeof(ask.id));
	memcpy(ask.old, ref->bases[0], sizeof(ask.old));
	memcpy(ask.head, ref->bases[1], sizeof(ask.head));
	ref->error = commits_ask(&ask, NULL, hear_path, &looking, &ref->commits);
	return ref->error == -ENOMEM || commits.requests < 0 ? ref->error : 0;
}

int commits_find(struct job *job)
{
	int error = commits.error;

	if (error || commits.requests < 0)
		return error;
	list_sort(commits.changes, commits.change_count, sizeof(*commits.changes));
	for (size_t i = 0; i < commits.change_count && !error; i++)
		error = add_changed(job, &commits.changes[i]);
	list_sort(commits.refs, commits.ref_count, sizeof(*commits.refs));
	for (size_t i = 0; i < commits.ref_count && !error; i++) {
		error = commits.refs[i].error ? 0 : look_into(job, &commits.refs[i]);
		if (!error)
			error = branches_judge(job, i);
	}
	return error;
}

/* --- the sandbox's HEAD ----------------------------------------------------------------------- */

static int hear_name(void *context, const struct reader_tell *tell, const uint8_t *bytes)
{
	if (tell->kind != READER_NAMED || !refs_is_name((const char *)bytes))
		return -EPROTO;
	(void)snprintf(context, IPC_PATH_MAX, "%s", (const char *)bytes);
	return 0;
}

/* Find the name of the branch that the sandbox has checked out; "HEAD": none, but a commit. */
static int find_head_name(const struct job *job, char ret[IPC_PATH_MAX])
{
	const struct commits_change *change = find_change("HEAD");
	struct reader_ask ask = { .kind = READER_HEAD };

	(void)snprintf(ret, IPC_PATH_MAX, "HEAD");
	if (!change)
		return branches_head(job, ret);
	if (change->source < 0)
		return -ENOENT;
	ask.source = (uint32_t)change->source;
	return commits_ask(&ask, NULL, hear_name, ret, NULL);
}

/* Find the commit of a branch as the sandbox sees it. */
static int find_head_id(const struct job *job, const char *name, uint8_t ret[OBJECT_ID_BYTES])
{
	const struct commits_change *change = find_change(name);

	if (change && change->source >= 0)
		return read_ref(name, (uint32_t)change->source, ret);
	for (size_t i = 0; i < commits.packed_count; i++) {
		if (strcmp(commits.packed[i].name, name) != 0)
			continue;
		memcpy(ret, commits.packed[i].id, OBJECT_ID_BYTES);
		return 0;
	}
	return change ? -ENOENT : branches_read(job, name, ret);
}

/* Return whether the apply brings the ref, and not as the branch that is checked out, which takes
 * its files along; if none is listed, whether the host has its commit. */
static bool is_brought(const struct job *job, const char *name, const uint8_t id[OBJECT_ID_BYTES])
{
	char path[IPC_PATH_MAX];
	const struct commits_ref *ref;
	struct stat status;

	if (!branches_place(job, name, path))
		return false;
	ref = list_find(path, commits.refs, commits.ref_count, sizeof(*commits.refs));
	if (ref)
		return !ref->error && !ref->refusal && !ref->is_checked_out &&
		       (ref->held == 0 || (job->ask->flags & CHANGES_HELD_TOO));
	return branches_has(job, name, id) || is_hosts_already(job, path, id, &status);
}

int commits_head(const struct job *job, uint8_t ret[OBJECT_ID_BYTES])
{
	char name[IPC_PATH_MAX];
	int error = commits.requests < 0 ? -ENOENT : find_head_name(job, name);

	if (!error)
		error = find_head_id(job, name, ret);
	return error ? error : is_brought(job, name, ret) ? 0 : -ENOENT;
}

void commits_end(void)
{
	fd_close(&commits.requests); /* at which the reader ends */
	fd_close(&commits.answers);
	fd_close(&commits.spool);
	list_free(commits.changes, commits.change_count, sizeof(*commits.changes));
	list_free(commits.packed, commits.packed_count, sizeof(*commits.packed));
	list_free(commits.refs, commits.ref_count, sizeof(*commits.refs));
	free(commits.objects);
	branches_end();
	commits = (struct commits){ .requests = -1, .answers = -1, .spool = -1 };
}
