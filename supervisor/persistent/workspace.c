/* SPDX-License-Identifier: Apache-2.0 */
#include "persistent/workspace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_start.h"
#include "run/deferred.h"

static uint32_t last_number;

int launcher_ask(const struct frontend *frontend, uint32_t type, const void *message)
{
	const struct ipc_workspace_within within = { frontend && frontend->is_workspace_start };
	int error = 0;

	for (uint32_t i = 0; frontend && i < frontend->workspace_count && !error; i++)
		error = state_send(&supervisor.launcher, IPC_TYPE_workspace_within, &within,
				   &frontend->workspaces[i]);
	return error ? error : state_send(&supervisor.launcher, type, message, NULL);
}

static void refuse_question(struct question *question, const char *why)
{
	question->state = QUESTION_REFUSED;
	(void)snprintf(question->answer, IPC_PATH_MAX, "%s", why);
}

static void ask_launcher(const struct frontend *frontend, struct question *question,
			 const char *path, bool is_person)
{
	static struct ipc_workspace_ask message;

	fd_close_all(question->fds, 3);
	question->state = QUESTION_ASKED;
	last_number += last_number == UINT32_MAX ? 2 : 1; /* 0 is any */
	question->number = message.number = last_number;
	message.generation = supervisor.generation;
	message.is_person = is_person;
	(void)snprintf(message.path, sizeof(message.path), "%s", path);
	if (launcher_ask(is_person ? NULL : frontend, IPC_TYPE_workspace_ask, &message) != 0)
		refuse_question(question, "nobody is there who could open a directory of the host");
}

int workspace_find(const struct frontend *frontend, const char *path, bool is_person,
		   char ret[IPC_PATH_MAX], char detail[IPC_LIST_MAX])
{
	struct question *question = deferred_question();
	int fd = -EACCES;

	if (question->state == QUESTION_NONE)
		ask_launcher(frontend, question, path, is_person);
	if (question->state == QUESTION_ASKED)
		return -EINPROGRESS;
	if (question->state == QUESTION_REFUSED) {
		(void)snprintf(detail, IPC_LIST_MAX, "%.1000s", question->answer);
	} else {
		memcpy(ret, question->answer, IPC_PATH_MAX);
		fd = fd_take(&question->fds[0]);
	}
	question->state = QUESTION_NONE;
	return fd;
}

int *workspace_came(void)
{
	return deferred_question()->fds + 1;
}

int workspace_opened(void *context, struct channel_message *message)
{
	const struct ipc_workspace_open *from = ipc_body(message, workspace_open);
	struct question *question = deferred_asked(from->number);

	if (!question)
		return 0;
	question->state = QUESTION_OPENED;
	for (uint32_t i = 0; i < 2 + (from->has_git != 0); i++)
		question->fds[i] = channel_take_fd(message, i);
	memcpy(question->answer, from->path, IPC_PATH_MAX);
	return 0;
}

int workspace_refused(void *context, struct channel_message *message)
{
	const struct ipc_workspace_bad *from = ipc_body(message, workspace_bad);
	struct question *question = deferred_asked(from->number);

	if (question)
		refuse_question(question, from->text);
	return 0;
}

void workspace_lost(void)
{
	for (struct question *question; (question = deferred_asked(0));)
		refuse_question(question, "who opens directories of the host has ended");
}
