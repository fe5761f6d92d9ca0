/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/opener/parts.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/channel.h"

static bool is_text(const char *text, size_t room)
{
	return memchr(text, '\0', room) != NULL;
}

bool opener_take_start(struct opener_start *ret)
{
	int *named[OPENER_FDS_MAX];
	struct stat status;
	size_t count;
	int next = OPENER_FD_FIRST;

	if (!fd_is_kind(OPENER_FD_CHANNEL, 's') || !fd_is_kind(OPENER_FD_START, 'm') ||
	    fstat(OPENER_FD_START, &status) != 0 || status.st_size != sizeof(*ret) ||
	    pread(OPENER_FD_START, ret, sizeof(*ret), 0) != sizeof(*ret))
		return false;
	if (memcmp(ret->schema, ipc_schema_hash, sizeof(ret->schema)) != 0 ||
	    ret->own.count > CLIENT_WORKSPACES_MAX || !is_text(ret->config, sizeof(ret->config)) ||
	    !is_text(ret->gateway.path, sizeof(ret->gateway.path)) ||
	    !is_text(ret->trust.certificates.path, sizeof(ret->trust.certificates.path)))
		return false;
	count = opener_list_fds(ret, named);
	for (size_t i = 0; i < count; i++) {
		if (*named[i] >= 0 && *named[i] != next++)
			return false;
	}
	return ret->plan >= 0 && dup2(STDOUT_FILENO, OPENER_FD_START) == OPENER_FD_START;
}

void opener_serve(struct opener_start *start, opener_confine *confine)
{
	struct plan plan = { .bytes = NULL };
	int ends[2] = { -1, -1 };
	pid_t starter = -1;

	/* Checked once for both, which may close it. */
	if (plan_open_fd(start->plan, &plan) == 0 && channel_pair(ends) == 0)
		starter = fork();
	if (starter == 0) {
		fd_close(&ends[0]);
		starter_run(start, &plan, ends[1]);
		_exit(0);
	}
	fd_close(&ends[1]);
	if (starter > 0)
		answer_run(start, &plan, ends[0], confine);
	while (starter > 0 && waitpid(starter, NULL, 0) < 0 && errno == EINTR)
		;
}
