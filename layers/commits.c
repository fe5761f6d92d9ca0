/* SPDX-License-Identifier: Apache-2.0 */
#include "commits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "beneath.h"
#include "commits_state.h"
#include "common/changes.h"
#include "common/fd.h"
#include "confine.h"
#include "gitpath.h"
#include "held.h"
#include "layers/branches/branches.h"
#include "layers/reader/library.h"
#include "layers/reader/reader.h"
#include "layers/reader/refs.h"
#include "layers/reader/tree_names.h"
#include "lib/heap/grow.h"

#define GIT ".git/"
#define GIT_SIZE (sizeof(GIT) - 1)
#define REFS GIT "refs/"

static struct commits state = { .requests = -1, .answers = -1, .spool = -1 };

struct commits *commits_state(void)
{
	return &state;
}

/* --- the reader ------------------------------------------------------------------------------- */

/* The repository of each layer, the highest first, and the host's. */
static size_t open_repositories(const struct job_directories *directories,
				int ret[OBJECTS_SOURCES_MAX])
{
	for (uint32_t i = 0; i < directories->layer_count; i++)
		ret[i] = beneath_directory(directories->layers[i], WORKSPACE_NAME "/.git");
	ret[directories->layer_count] = beneath_directory(directories->host, ".git");
	return directories->layer_count + 1;
}

__attribute__((noreturn)) static void run_reader(const struct job *job, const int requests[2],
						 const int answers[2])
{
	int gits[OBJECTS_SOURCES_MAX];

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		_exit(MSP_EXIT_REFUSED);
	(void)close(requests[1]);
	(void)close(answers[0]);
	if (job->confine_reader)
		job->confine_reader(job);
	reader_serve(requests[0], answers[1], gits, open_repositories(&job->directories, gits));
	_exit(0);
}

int commits_begin(struct job *job)
{
	int requests[2], answers[2], error;
	struct stat status;

	if (job->directories.host < 0 || job->directories.since_count > 0 ||
	    beneath_look(job->directories.host, ".git", &status) != 0 || !S_ISDIR(status.st_mode))
		return 0;
	error = library_load();
	if (!error && pipe2(requests, O_CLOEXEC) != 0)
		error = -errno;
	if (error)
		return error;
	if (pipe2(answers, O_CLOEXEC) != 0) {
		error = -errno;
		fd_close_all(requests, 2);
		return error;
	}
	state.reader = fork();
	if (state.reader == 0)
		run_reader(job, requests, answers);
	error = state.reader < 0 ? -errno : 0;
	state.requests = requests[1];
	state.answers = answers[0];
	state.mode = status.st_mode & 0777;
	fd_close(&requests[0]);
	fd_close(&answers[1]);
	return error;
}

int commits_ask(const struct reader_ask *ask, commits_heard heard, void *context,
		uint32_t *ret_count)
{
	return commits_ask_with(ask, NULL, heard, context, ret_count);
}

int commits_ask_with(const struct reader_ask *ask, const uint8_t *body, commits_heard heard,
		     void *context, uint32_t *ret_count)
{
	struct reader_tell tell;
	int error = state.error ? state.error : fd_write_all(state.requests, ask, sizeof(*ask));
	int wrong = 0;

	if (!error && body)
		error = fd_write_all(state.requests, body, ask->body_size);
	while (!error) {
		uint8_t *bytes;

		error = reader_read(state.answers, &tell, sizeof(tell));
		if (!error && tell.kind == READER_END)
			break;
		if (!error && tell.size > OBJECT_BYTES_MAX)
			error = -EPROTO;
		bytes = error ? NULL : malloc((size_t)tell.size + 1);
		if (!error && !bytes)
			error = -ENOMEM;
		if (!error)
			error = reader_read(state.answers, bytes, tell.size);
		if (!error) {
			bytes[tell.size] = '\0';
			wrong = wrong ? wrong : heard(context, &tell, bytes);
		}
		free(bytes);
	}
	if (error) { /* the next message would be the answer to this one */
		fd_close(&state.requests);
		return state.error = error == -EPIPE ? -EOWNERDEAD : error;
	}
	if (ret_count)
		*ret_count = tell.count;
	return wrong ? wrong : tell.error > 0 ? -EPROTO : tell.error;
}

/* --- which refs ------------------------------------------------------------------------------- */

static int remember_change(const struct difference *difference)
{
	struct commits_change *grown =
		reallocarray(state.changes, state.change_count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	state.changes = grown;
	grown[state.change_count].path = strdup(difference->path + GIT_SIZE);
	grown[state.change_count].source =
		difference->kind == CHANGE_DELETED ? -1 : difference->layer;
	if (!grown[state.change_count].path)
		return -ENOMEM;
	state.change_count++;
	return 0;
}

static bool is_below(const char *path, const char *above)
{
	const size_t size = strlen(above);

	return size > 0 && strncmp(path, above, size) == 0 && path[size] == '/';
}

enum commits_fate commits_judge(const struct difference *difference)
{
	const char *path = difference->path;
	const size_t repository = gitpath_repository(path);

	if (repository == 0)
		return COMMITS_ELSEWHERE;
	if (is_below(path, state.stays))
		return COMMITS_DATA;
	if (gitpath_is_data(path)) {
		if (strncmp(path, GIT, GIT_SIZE) == 0 &&
		    (S_ISREG(difference->now.st_mode) || S_ISREG(difference->old.st_mode)) &&
		    (strncmp(path, REFS, sizeof(REFS) - 1) == 0 ||
		     strcmp(path, GIT "packed-refs") == 0 || strcmp(path, GIT "HEAD") == 0) &&
		    remember_change(difference) != 0)
			state.error = -ENOMEM;
		return COMMITS_DATA;
	}
	/* One line stands for a folder that came or went with all that is in it. */
	if (difference->kind == CHANGE_ADDED || difference->kind == CHANGE_DELETED ||
	    difference->kind == CHANGE_TYPE)
		(void)stpcpy(state.stays, path);
	return COMMITS_STAYS;
}

static int keep_id(void *context, const struct reader_tell *tell, const uint8_t *bytes)
{
	(void)bytes;
	memcpy(context, tell->id, OBJECT_ID_BYTES);
	return 0;
}

static int read_ref(const char *path, uint32_t source, uint8_t ret[OBJECT_ID_BYTES])
{
	static struct reader_ask ask;

	ask = (struct reader_ask){ .kind = READER_REF, .source = source };
	(void)snprintf(ask.path, sizeof(ask.path), "%s", path);
	return commits_ask(&ask, keep_id, ret, NULL);
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

/* gcc 12's analyzer loses sight of the copy of a path that state.refs has. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

static int append_ref(const struct commits_ref *new)
{
	if (!state.refs)
		state.refs = calloc(COMMITS_REFS_MAX + 1, sizeof(*state.refs));
	if (!state.refs)
		return -ENOMEM;
	state.refs[state.ref_count] = *new;
	state.refs[state.ref_count].path = strdup(new->path);
	return state.refs[state.ref_count++].path ? 0 : -ENOMEM;
}

/* Count a ref that is not looked at, and list the first. */
static int add_rest(char *path)
{
	static struct commits_ref ref;

	ref.path = path;
	ref.error = -EUSERS;
	return state.rest++ > 0 ? 0 : append_ref(&ref);
}

/* Return whether a ref has the path, or one above or below: `tags/v1` is a branch's name, too. */
static bool is_taken(const char *path)
{
	bool is_taken = false;

	for (size_t i = 0; i < state.ref_count && !is_taken; i++)
		is_taken = strcmp(path, state.refs[i].path) == 0 ||
			   is_below(path, state.refs[i].path) || is_below(state.refs[i].path, path);
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
	if (state.ref_count - (state.rest > 0) == COMMITS_REFS_MAX)
		return add_rest(path);
	ref.path = path;
	ref.error = is_taken(path) ? -EEXIST : 0;
	memcpy(ref.id, id, sizeof(ref.id));
	branches_bases(job, name, ref.bases);
	return append_ref(&ref);
}

static int compare_changes(const void *left, const void *right)
{
	return strcmp(((const struct commits_change *)left)->path,
		      ((const struct commits_change *)right)->path);
}

static int compare_with_name(const void *name, const void *change)
{
	return strcmp(name, ((const struct commits_change *)change)->path);
}

static const struct commits_change *find_change(const char *name)
{
	return state.change_count == 0 ? NULL
				       : bsearch(name, state.changes, state.change_count,
						 sizeof(*state.changes), compare_with_name);
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
	if (state.packed_count == COMMITS_PACKED_MAX)
		return branches_place(context, name, path) ? add_rest(path) : 0;
	packed = grow_list(state.packed, &state.packed_room, state.packed_count + 1,
			   sizeof(*packed));
	if (!packed)
		return -ENOMEM;
	state.packed = packed;
	packed += state.packed_count;
	packed->name = strdup(name);
	if (!packed->name)
		return -ENOMEM;
	memcpy(packed->id, tell->id, OBJECT_ID_BYTES);
	packed->is_deleted = change != NULL;
	state.packed_count++;
	return 0;
}

static int add_packed(struct job *job, uint32_t source)
{
	const struct reader_ask ask = { .kind = READER_PACKED, .source = source };
	uint8_t id[OBJECT_ID_BYTES];
	int error = commits_ask(&ask, hear_packed, job, NULL);

	for (size_t i = 0; i < state.packed_count && !error; i++) {
		const struct commits_packed *packed = &state.packed[i];
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
	/* The files of a submodule's commit are in another repository, and unknown. */
	if (tell->count != TREE_COMMIT &&
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
	ref->error = commits_ask(&ask, hear_path, &looking, &ref->commits);
	return ref->error == -ENOMEM || state.requests < 0 ? ref->error : 0;
}

static int compare_refs(const void *left, const void *right)
{
	return strcmp(((const struct commits_ref *)left)->path,
		      ((const struct commits_ref *)right)->path);
}

int commits_find(struct job *job)
{
	int error = state.error;

	if (state.requests < 0)
		return error;
	if (state.change_count > 0)
		qsort(state.changes, state.change_count, sizeof(*state.changes), compare_changes);
	for (size_t i = 0; i < state.change_count && !error; i++)
		error = add_changed(job, &state.changes[i]);
	if (state.ref_count > 0)
		qsort(state.refs, state.ref_count, sizeof(*state.refs), compare_refs);
	for (size_t i = 0; i < state.ref_count && !error; i++) {
		error = state.refs[i].error ? 0 : look_into(job, &state.refs[i]);
		if (!error)
			error = branches_judge(job, i);
	}
	return error;
}

void commits_end(void)
{
	fd_close(&state.requests); /* at which the reader ends */
	fd_close(&state.answers);
	fd_close(&state.spool);
	for (size_t i = 0; i < state.change_count; i++)
		free(state.changes[i].path);
	for (size_t i = 0; i < state.packed_count; i++)
		free(state.packed[i].name);
	for (size_t i = 0; i < state.ref_count; i++)
		free(state.refs[i].path);
	free(state.changes);
	free(state.packed);
	free(state.refs);
	free(state.objects);
	branches_end();
	state = (struct commits){ .requests = -1, .answers = -1, .spool = -1 };
}
