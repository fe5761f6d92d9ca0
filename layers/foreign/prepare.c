/* SPDX-License-Identifier: Apache-2.0
 *
 * A foreign file has an owner or a group that the sandbox's user namespace does not map, so
 * overlayfs cannot copy it up: each change of it, or beneath it, would fail with EOVERFLOW. Before
 * the first start this job makes such directories and small files in the upper, with the user's own
 * ids. The lower directories merge with those, and a prepared copy needs no copy-up.
 *
 * The search goes breadth first, so that a limit cuts the deepest directories off. The user's
 * rights on the host decide: a file that the user may not write there stays unchangeable here.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_layers.h"
#include "common/records/changes.h"
#include "layers/base/base.h"
#include "layers/base/beneath.h"
#include "layers/base/files.h"
#include "layers/base/job.h"
#include "layers/base/progress.h"
#include "layers/foreign/pointer.h"
#include "lib/heap/grow.h"

/* The search ends behind so many names: `create` must not wait for a large project. A bound of time
 * would leave out more of a small project, the more the machine has to do. */
#define SEARCH_NAMES_MAX 50000U

/* A network's file system may need a millisecond for a name, and copies take their time. */
#define SEARCH_US UINT64_C(2000000)

/* A larger file stays unchangeable, as do all behind so many bytes. */
#define FILE_BYTES_MAX ((off_t)1 << 20)
#define COPY_BYTES_MAX ((off_t)64 << 20)

/* The copy under work, beside the persistent mounts: a kill leaves no half file in the upper. */
#define COPY_NAME ".prepared"

#define HOME_NAME "home"
#define TEXT_MAX (4 * GIT_USER_MAX + 64)

#define OPEN_MODE 0700U
#define UPPER_MODE 0755U
#define MODE_BITS 07777U

struct directory {
	struct directory *above; /* NULL: this is the workspace */
	mode_t mode;             /* on the host */
	bool is_shut;            /* foreign and unchangeable, or beneath such a directory */
	bool is_made;            /* in the upper */
	char path[];
};

struct preparing {
	struct job *job;
	struct directory **directories; /* all that were met, those above others before them */
	size_t count, room;
	struct directory *at;
	int host, upper; /* the present directory's; upper -1: it is not opened */
	uid_t uid;
	gid_t gid;
	uint64_t began_us;
	off_t bytes;
	bool is_cut;
};

static bool is_foreign(const struct preparing *preparing, const struct stat *status)
{
	return status->st_uid != preparing->uid || status->st_gid != preparing->gid;
}

/* Ask the kernel directly: C libraries take this call or a newer one. */
static bool may_use(int directory, const char *name, int rights)
{
	return syscall(SYS_faccessat, directory, name, rights) == 0;
}

static bool is_over(const struct preparing *preparing)
{
	return preparing->job->done.ignored >= SEARCH_NAMES_MAX ||
	       clock_now_us() - preparing->began_us > SEARCH_US;
}

static int add_directory(struct preparing *preparing, const char *path, const struct stat *status,
			 bool is_shut, bool is_made)
{
	const size_t size = strlen(path) + 1;
	struct directory *directory = malloc(sizeof(*directory) + size);
	struct directory **item = directory
					  ? grow_item(&preparing->directories, &preparing->room,
						      &preparing->count, sizeof(struct directory *))
					  : NULL;

	if (!item) {
		free(directory);
		return -ENOMEM;
	}
	*directory = (struct directory){ .above = preparing->at,
					 .mode = status->st_mode & MODE_BITS,
					 .is_shut = is_shut,
					 .is_made = is_made };
	memcpy(directory->path, path, size);
	*item = directory;
	return 0;
}

/* Make a directory that stays open to this job until close_directories(). */
static int make_directory(int parent, const char *name, mode_t mode)
{
	if (mkdirat(parent, name, OPEN_MODE) != 0)
		return -errno;
	return files_chmod(parent, name, mode | OPEN_MODE);
}

/* Make the highest directory that is missing in the upper, on the way to the present one. */
static int make_missing(const struct preparing *preparing, int workspace)
{
	struct directory *missing = preparing->at;
	const char *name;
	int parent;
	int error;

	while (!missing->above->is_made)
		missing = missing->above;
	parent = files_parent(workspace, missing->path, &name);
	error = parent < 0 ? parent : make_directory(parent, name, missing->mode);
	fd_close(&parent);
	missing->is_made = error == 0;
	return error;
}

static int open_upper(struct preparing *preparing)
{
	const int layer = preparing->job->directories.layers[0];
	int workspace = -1;
	/* The first start would make it likewise. */
	int error = mkdirat(layer, WORKSPACE_NAME, UPPER_MODE) == 0 || errno == EEXIST ? 0 : -errno;

	if (!error)
		workspace = beneath_directory(layer, WORKSPACE_NAME);
	if (!error && workspace < 0)
		error = workspace;
	while (!error && !preparing->at->is_made)
		error = make_missing(preparing, workspace);
	if (!error)
		preparing->upper = beneath_directory(workspace, preparing->at->path);
	fd_close(&workspace);
	return error ? error : preparing->upper < 0 ? preparing->upper : 0;
}

/* Copy content, times and permissions to a file without a place yet. -ESTALE: it changed
 * meanwhile. */
static int fill_copy(int from, int to, const struct stat *status)
{
	const struct timespec times[] = { status->st_atim, status->st_mtim };
	uint8_t hash[SHA256_BYTES];
	struct stat after;
	int error = files_copy(from, to, hash);

	if (!error && (fstat(from, &after) != 0 || after.st_size != status->st_size ||
		       clock_ns_of(&after.st_ctim) != clock_ns_of(&status->st_ctim)))
		error = -ESTALE;
	if (!error && (futimens(to, times) != 0 || fchmod(to, status->st_mode & MODE_BITS) != 0))
		error = -errno;
	return error;
}

static int copy_file(struct preparing *preparing, const char *name)
{
	const int layer = preparing->job->directories.layers[0];
	struct stat status;
	int from = beneath_file(preparing->host, name, &status);
	int to = from < 0 ? -1
			  : openat(layer, COPY_NAME,
				   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int error = from < 0 ? from : to < 0 ? -errno : fill_copy(from, to, &status);

	fd_close(&from);
	fd_close(&to);
	if (!error)
		error = files_rename(layer, COPY_NAME, preparing->upper, name, RENAME_NOREPLACE);
	if (error)
		(void)unlinkat(layer, COPY_NAME, 0); /* or the next copy truncates it */
	preparing->bytes += error ? 0 : status.st_size;
	return error;
}

static int copy_link(const struct preparing *preparing, const char *name)
{
	char target[IPC_PATH_MAX];
	const int size = beneath_link(preparing->host, name, target);

	if (size < 0)
		return size;
	return symlinkat(target, preparing->upper, name) == 0 ? 0 : -errno;
}

/* Return whether the user could change it on the host, and a copy is affordable. */
static bool is_changeable(const struct preparing *preparing, const char *name,
			  const struct stat *status)
{
	const int rights = S_ISDIR(status->st_mode) ? R_OK | W_OK | X_OK : R_OK | W_OK;

	if (S_ISLNK(status->st_mode))
		return true;
	if (!S_ISDIR(status->st_mode) &&
	    (!S_ISREG(status->st_mode) || (status->st_mode & (S_ISUID | S_ISGID)) ||
	     status->st_size > FILE_BYTES_MAX ||
	     preparing->bytes + status->st_size > COPY_BYTES_MAX))
		return false;
	return may_use(preparing->host, name, rights);
}

static int prepare_name(struct preparing *preparing, const char *name, const struct stat *status)
{
	const int error = preparing->upper >= 0 ? 0 : open_upper(preparing);

	if (error)
		return error;
	if (S_ISDIR(status->st_mode))
		return make_directory(preparing->upper, name, status->st_mode & MODE_BITS);
	return S_ISLNK(status->st_mode) ? copy_link(preparing, name) : copy_file(preparing, name);
}

static int tell_left(struct preparing *preparing, const char *path, const struct stat *status)
{
	static struct difference difference;

	difference.kind = CHANGE_MODE;
	difference.flags =
		CHANGE_IS_REFUSED | (S_ISDIR(status->st_mode) ? (uint32_t)CHANGE_IS_DIRECTORY : 0);
	difference.now = difference.old = *status;
	(void)stpncpy(difference.path, path, sizeof(difference.path) - 1);
	difference.path[sizeof(difference.path) - 1] = '\0';
	return job_tell(preparing->job, &difference, NULL, NULL, 0);
}

/* Prepare a foreign file, or tell that it stays unchangeable; of a directory's content only the
 * directory is told. */
static int judge_foreign(struct preparing *preparing, const char *path, const char *name,
			 const struct stat *status, bool *ret_shut)
{
	struct ipc_layers_done *done = &preparing->job->done;
	int error = -EACCES;

	done->total++;
	done->conflicts += S_ISDIR(status->st_mode);
	if (!preparing->at->is_shut && is_changeable(preparing, name, status))
		error = prepare_name(preparing, name, status);
	if (error == -EEXIST) /* the host's change let its directory tell the name again */
		error = 0;
	*ret_shut = error != 0;
	done->applied += error == 0;
	done->held += error != 0;
	/* The host's change meanwhile, or a file that cannot be read, leaves one file as it is. */
	if (error && error != -EACCES && error != -ESTALE && error != -ENOENT && error != -EPERM)
		return error;
	return error && !preparing->at->is_shut ? tell_left(preparing, path, status) : 0;
}

static int visit_name(struct preparing *preparing, const char *name)
{
	const struct directory *at = preparing->at;
	char path[IPC_PATH_MAX];
	const size_t size = strlen(at->path);
	bool is_shut = at->is_shut;
	struct stat status;
	int error = 0;

	progress_note(CHANGE_STAGE_PREPARE, ++preparing->job->done.ignored, 0);
	if (size + 1 + strlen(name) >= sizeof(path) ||
	    fstatat(preparing->host, name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
		return 0; /* no path, or gone: nothing can be prepared */
	memcpy(path, at->path, size);
	path[size] = '/';
	memcpy(path + size + (size > 0), name, strlen(name) + 1);
	if (is_foreign(preparing, &status))
		error = judge_foreign(preparing, path, name, &status, &is_shut);
	if (error || !S_ISDIR(status.st_mode))
		return error;
	return add_directory(preparing, path, &status, is_shut,
			     is_foreign(preparing, &status) && !is_shut);
}

/* A directory that cannot be read, or is another file system's, is left. Names are taken as they
 * are read: a directory can have a million. */
static int visit_directory(struct preparing *preparing)
{
	const struct dirent *entry;
	DIR *names;
	int error = 0;

	preparing->host = beneath_directory(preparing->job->directories.host, preparing->at->path);
	names = preparing->host < 0 ? NULL : fdopendir(preparing->host);
	if (!names) {
		error = preparing->host < 0 ? 0 : -errno;
		fd_close(&preparing->host);
		return error;
	}
	preparing->upper = -1;
	while (!error && !preparing->is_cut && (entry = readdir(names))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		preparing->is_cut = is_over(preparing);
		error = preparing->is_cut ? 0 : visit_name(preparing, entry->d_name);
	}
	(void)closedir(names); /* it was only read */
	fd_close(&preparing->upper);
	return error;
}

/* Give the made directories their modes, the deepest first. */
static int close_directories(const struct preparing *preparing)
{
	int workspace = beneath_directory(preparing->job->directories.layers[0], WORKSPACE_NAME);
	int error = 0;

	if (workspace < 0) /* no entry was prepared */
		return workspace == -ENOENT ? 0 : workspace;
	for (size_t i = preparing->count; i > 0 && !error; i--) {
		const struct directory *directory = preparing->directories[i - 1];

		if (directory->is_made && directory->above &&
		    (directory->mode & OPEN_MODE) != OPEN_MODE)
			error = files_chmod(workspace, directory->path, directory->mode);
	}
	fd_close(&workspace);
	return error;
}

static int search_workspace(struct preparing *preparing)
{
	struct stat status;
	int error = fstat(preparing->job->directories.host, &status) == 0 ? 0 : -errno;

	if (!error)
		error = add_directory(preparing, "", &status, false, true);
	for (size_t i = 0; i < preparing->count && !error && !preparing->is_cut; i++) {
		preparing->at = preparing->directories[i];
		error = visit_directory(preparing);
	}
	if (!error)
		error = close_directories(preparing);
	list_free(preparing->directories, preparing->count, sizeof(struct directory *));
	return error;
}

/* Files of the upper may hide the host's or say that one is gone: there must be none yet. */
static int check_new(const struct job *job)
{
	const int empty = job->directories.layer_count == 1
				  ? files_is_empty(job->directories.layers[0], WORKSPACE_NAME)
				  : 0;

	return empty == -ENOENT || empty > 0 ? 0 : empty < 0 ? empty : -ENOTEMPTY;
}

/* Note the bases after the copies are on disk: a base that outlives its copy would call a cut off
 * copy a change of the sandbox's. */
static int note_copies(const struct job *job, uint64_t began_us)
{
	int layer = beneath_directory(job->directories.layers[0], "");
	int error = layer < 0 ? layer : syncfs(layer) == 0 ? 0 : -errno;

	fd_close(&layer);
	return error ? error : base_note(&job->directories, began_us);
}

/* --- the user's name and email for git -------------------------------------------------------- */

/* Append a value in git's quotes. A control character could begin another line. */
static void add_value(char text[TEXT_MAX], const char *key, const char *value)
{
	char quoted[2 * GIT_USER_MAX], *at = quoted;
	const size_t used = strlen(text);

	if (strlen(value) >= GIT_USER_MAX)
		return;
	for (; *value; value++) {
		if ((unsigned char)*value < ' ' || *value == '\x7f')
			return;
		if (*value == '"' || *value == '\\')
			*at++ = '\\';
		*at++ = *value;
	}
	*at = '\0';
	(void)snprintf(text + used, TEXT_MAX - used, "%s\t%s = \"%s\"\n", used ? "" : "[user]\n",
		       key, quoted);
}

static void write_text(const struct job *job, char ret[TEXT_MAX])
{
	static const struct {
		const char *mark, *key;
	} rows[] = { { GIT_USER_NAME_MARK, "name" }, { GIT_USER_EMAIL_MARK, "email" } };

	ret[0] = '\0';
	for (size_t at = 0; at < job->named_size; at += strlen(job->named + at) + 1) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			const size_t size = strlen(rows[i].mark);

			if (strncmp(job->named + at, rows[i].mark, size) == 0)
				add_value(ret, rows[i].key, job->named + at + size);
		}
	}
}

/* Write the name and email that the job was given into `.config/git/config` of the home, if no
 * execution has made a home yet. git reads this file behind the system's and before the home's own
 * .gitconfig and the repository's configuration: whatever is set in the sandbox wins. */
static int write_identity(const struct job *job)
{
	static const char *const directories[] = { HOME_NAME, HOME_NAME "/.config",
						   HOME_NAME "/.config/git" };
	const int layer = job->directories.layers[0];
	char text[TEXT_MAX];
	int error = 0, file = -1, directory = -1;

	write_text(job, text);
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]) && text[0]; i++) {
		const char *name;
		int parent = files_parent(layer, directories[i], &name);

		error = parent < 0 ? parent : mkdirat(parent, name, 0700) == 0 ? 0 : -errno;
		fd_close(&parent);
		if (error)
			return error == -EEXIST ? 0 : error;
	}
	if (!text[0])
		return 0;
	directory = files_open(layer, HOME_NAME "/.config/git", O_PATH | O_DIRECTORY);
	file = directory < 0
		       ? directory
		       : openat(directory, "config", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	error = file < 0 ? -errno : fd_write_all(file, text, strlen(text));
	fd_close(&file);
	fd_close(&directory);
	return error;
}

/* --- the whole ------------------------------------------------------------------------------- */

int job_prepare(struct job *job)
{
	const uint64_t began_us = clock_real_us();
	struct preparing preparing = { .job = job,
				       .uid = getuid(),
				       .gid = getgid(),
				       .began_us = clock_now_us(),
				       .host = -1,
				       .upper = -1 };
	int error = check_new(job);

	if (!error)
		error = search_workspace(&preparing);
	if (!error && job->done.applied > 0)
		error = note_copies(job, began_us);
	if (!error)
		error = write_identity(job);
	if (!error)
		error = pointer_write(job);
	if (error || !may_use(job->directories.host, ".", W_OK))
		job->done.step = CHANGES_STEP_WRITE;
	else if (preparing.is_cut)
		job->done.step = CHANGES_STEP_READ;
	return error;
}
