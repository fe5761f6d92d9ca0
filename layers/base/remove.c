/* SPDX-License-Identifier: Apache-2.0
 *
 * A directory is emptied by moving the directories in it up to the top, where they are found again:
 * nothing recurses, no path grows, and two descriptors do.
 */
#include "layers/base/remove.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "layers/base/beneath.h"
#include "layers/base/files.h"
#include "layers/base/job.h"

/* The kernel's numbers, which the C library does not have: IOPRIO_WHO_PROCESS, and
 * IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0). */
#define IOPRIO_OF_PROCESS 1
#define IOPRIO_IDLE (3 << 13)

/* An action on a directory that was found in another. */
typedef int (*directory_action)(int top, int directory, const char *name);

static bool is_directory(int directory, const char *name)
{
	struct stat status;

	return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(status.st_mode);
}

/* One look at all names: files go, directories get `action`. 1: something was gained, even if not
 * all went; else 0 when there was nothing, or the first error. */
static int pass_once(int top, int directory, directory_action action)
{
	struct beneath_names names = { 0 };
	bool is_better = false;
	int error =
		lseek(directory, 0, SEEK_SET) == 0 ? beneath_names_read(&names, directory) : -errno;

	/* There is no list if not all could be read. */
	for (size_t i = 0; names.names && i < names.count; i++) {
		int wrong = unlinkat(directory, names.names[i], 0) == 0 ? 0 : -errno;

		if (wrong && is_directory(directory, names.names[i]))
			wrong = action(top, directory, names.names[i]);
		is_better |= wrong == 0;
		if (error == 0 && wrong != -ENOENT)
			error = wrong;
	}
	beneath_names_free(&names);
	return is_better ? 1 : error;
}

/* Until there is nothing, or nothing goes any more: directories come up from below all the time. */
static int pass_again(int top, int directory, directory_action action)
{
	int result;

	do
		result = pass_once(top, directory, action);
	while (result > 0);
	return result;
}

static int lift_up(int top, int directory, const char *name)
{
	static uint64_t number;
	char fresh[32];
	int error;

	if (unlinkat(directory, name, AT_REMOVEDIR) == 0)
		return 0;
	error = files_chmod(directory, name, 0700); /* it is moved only by who may write to it */
	if (error)
		return error;
	do {
		(void)snprintf(fresh, sizeof(fresh), "msp-%llu", (unsigned long long)number++);
		error = files_rename(directory, name, top, fresh, RENAME_NOREPLACE);
	} while (error == -EEXIST);
	return error;
}

/* Remove a directory; `action` takes those in it, and `top` is the way up for them. -1: itself. */
static int remove_directory(int top, int parent, const char *name, directory_action action)
{
	int error, fd;

	if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
		return 0;
	error = files_chmod(parent, name, 0700);
	fd = error ? error : beneath_directory(parent, name);
	if (fd < 0)
		return fd;
	error = pass_again(top < 0 ? fd : top, fd, action);
	fd_close(&fd);
	return error || unlinkat(parent, name, AT_REMOVEDIR) == 0 ? error : -errno;
}

static int take_apart(int top, int directory, const char *name)
{
	return remove_directory(top, directory, name, lift_up);
}

int remove_tree(int parent, const char *name)
{
	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return 0;
	return is_directory(parent, name) ? remove_directory(-1, parent, name, take_apart) : -errno;
}

static void end_at_once(int signal)
{
	_exit(0);
}

int remove_detach(void)
{
	/* Best effort: the machine has other work. */
	(void)setpriority(PRIO_PROCESS, 0, PRIO_MAX);
	(void)syscall(SYS_ioprio_set, IOPRIO_OF_PROCESS, 0, IOPRIO_IDLE);
	/* The kernel keeps a signal without a handler from PID 1 of a namespace; the machine's
	 * shutdown shall not wait for us. */
	return setsid() >= 0 && prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0) == 0 &&
			       signal(SIGTERM, end_at_once) != SIG_ERR
		       ? 0
		       : -errno;
}

int job_remove(struct job *job)
{
	int top = beneath_directory(job->directories.target, "");
	int error = top < 0 ? top : 0;

	if (!error && flock(top, LOCK_EX | LOCK_NB) == 0) {
		error = pass_again(top, top, take_apart);
		(void)flock(top, LOCK_UN); /* cannot fail: the lock is held */
		/* A remover that met the lock after our last look has left its work to us. */
		error = error ? error : pass_again(top, top, take_apart);
	}
	fd_close(&top);
	return error;
}
