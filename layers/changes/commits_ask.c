/* SPDX-License-Identifier: Apache-2.0
 *
 * The job's end of the reader of repositories: its process, requests and answers.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/fd.h"
#include "layers/base/beneath.h"
#include "layers/changes/commits_state.h"
#include "layers/reader/library.h"

struct commits commits = { .requests = -1, .answers = -1, .spool = -1 };

/* The repository of each layer, the highest first, and the host's. */
static size_t open_repositories(const struct job_directories *directories,
				int ret[OBJECTS_SOURCES_MAX])
{
	for (uint32_t i = 0; i < directories->layer_count; i++)
		ret[i] = beneath_directory(directories->layers[i], WORKSPACE_NAME "/.git");
	ret[directories->layer_count] = beneath_directory(directories->host, ".git");
	return directories->layer_count + 1;
}

__attribute__((noreturn)) static void run_reader(const struct job *job, reader_merge merge,
						 const int requests[2], const int answers[2])
{
	int gits[OBJECTS_SOURCES_MAX];

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		_exit(MSP_EXIT_REFUSED);
	(void)close(requests[1]);
	(void)close(answers[0]);
	if (job->confine_reader)
		job->confine_reader(job);
	reader_serve(requests[0], answers[1], gits, open_repositories(&job->directories, gits),
		     merge);
	_exit(0);
}

/* Has a branch changed in git's data outside of the workspace? */
static bool has_moved_data(const struct job_directories *directories)
{
	bool ret = false;

	for (uint32_t i = 0; i < directories->layer_count && !ret; i++) {
		int heads = beneath_directory(directories->layers[i], GIT_NAME "/refs/heads");

		ret = heads >= 0;
		fd_close(&heads);
	}
	return ret;
}

int commits_begin(const struct job *job, reader_merge merge)
{
	int requests[2], answers[2], error;
	struct stat status;

	commits.is_moved = has_moved_data(&job->directories);
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
	commits.reader = fork();
	if (commits.reader == 0)
		run_reader(job, merge, requests, answers);
	error = commits.reader < 0 ? -errno : 0;
	commits.requests = requests[1];
	commits.answers = answers[0];
	commits.mode = status.st_mode & 0777;
	fd_close(&requests[0]);
	fd_close(&answers[1]);
	return error;
}

int commits_ask(const struct reader_ask *ask, const uint8_t *body, commits_heard heard,
		void *context, uint32_t *ret_count)
{
	struct reader_tell tell;
	int error =
		commits.error ? commits.error : fd_write_all(commits.requests, ask, sizeof(*ask));
	int wrong = 0;

	if (!error && body)
		error = fd_write_all(commits.requests, body, ask->body_size);
	while (!error) {
		uint8_t *bytes;

		error = reader_read(commits.answers, &tell, sizeof(tell));
		if (!error && tell.kind == READER_END)
			break;
		if (!error && tell.size > OBJECT_BYTES_MAX)
			error = -EPROTO;
		bytes = error ? NULL : malloc((size_t)tell.size + 1);
		if (!error && !bytes)
			error = -ENOMEM;
		if (!error)
			error = reader_read(commits.answers, bytes, tell.size);
		if (!error) {
			bytes[tell.size] = '\0';
			wrong = wrong ? wrong : heard(context, &tell, bytes);
		}
		free(bytes);
	}
	if (error) { /* the next message would be the answer to this one */
		fd_close(&commits.requests);
		return commits.error = error == -EPIPE ? -EOWNERDEAD : error;
	}
	if (ret_count)
		*ret_count = tell.count;
	return wrong ? wrong : tell.error > 0 ? -EPROTO : tell.error;
}
