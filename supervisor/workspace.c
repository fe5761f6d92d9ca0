/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "frontend.h"
#include "generation.h"
#include "handlers.h"

/* A frontend is not heard while it waits, so each has one. */
static struct question {
	enum { QUESTION_NONE, QUESTION_ASKED, QUESTION_OPENED, QUESTION_REFUSED } state;
	uint32_t number;
	bool is_person;
	int fd;
	int named; /* the last answer's; 0: none yet */
	char asked[IPC_PATH_MAX];
	char answer[IPC_PATH_MAX]; /* the canonical path, or why not */
} questions[FRONTENDS_MAX];

static uint32_t number;

static void forget(struct question *question)
{
	if (question->state == QUESTION_OPENED)
		fd_close(&question->fd);
	if (question->named > 0)
		fd_close(&question->named);
	question->state = QUESTION_NONE;
}

static void refuse(struct question *question, const char *why)
{
	question->state = QUESTION_REFUSED;
	(void)snprintf(question->answer, sizeof(question->answer), "%s", why);
}

static void ask(const struct frontend *frontend, struct question *question)
{
	static struct ipc_workspace_ask message;

	message.number = question->number = ++number;
	message.generation = supervisor.generation;
	message.is_person = question->is_person;
	memcpy(message.path, question->asked, sizeof(message.path));
	question->state = QUESTION_ASKED;
	if (generation_ask_launcher(question->is_person ? NULL : frontend, IPC_TYPE_workspace_ask,
				    &message) != 0)
		refuse(question, "nobody is there who could open a directory of the host");
}

int workspace_find(struct frontend *frontend, const char *path, bool is_person,
		   char ret[IPC_PATH_MAX], char detail[IPC_LIST_MAX])
{
	struct question *question = &questions[frontend - supervisor.frontends];

	if (question->state == QUESTION_NONE || question->is_person != is_person ||
	    strcmp(question->asked, path) != 0) {
		forget(question);
		question->is_person = is_person;
		(void)snprintf(question->asked, sizeof(question->asked), "%s", path);
		ask(frontend, question);
	}
	if (question->state == QUESTION_ASKED)
		return -EINPROGRESS;
	if (question->state == QUESTION_REFUSED) {
		(void)snprintf(detail, IPC_LIST_MAX, "%.1000s", question->answer);
		forget(question);
		return -EACCES;
	}
	question->state = QUESTION_NONE;
	memcpy(ret, question->answer, IPC_PATH_MAX);
	return question->fd;
}

const int *workspace_named(const struct frontend *frontend)
{
	return &questions[frontend - supervisor.frontends].named;
}

void workspace_forget(const struct frontend *frontend)
{
	forget(&questions[frontend - supervisor.frontends]);
}

static struct question *find(uint32_t asked)
{
	for (size_t i = 0; i < FRONTENDS_MAX; i++) {
		if (questions[i].state == QUESTION_ASKED && questions[i].number == asked)
			return &questions[i];
	}
	return NULL;
}

int workspace_opened(void *context, struct channel_message *message)
{
	struct question *question = find(message->body.workspace_open.number);

	if (!question)
		return 0;
	question->state = QUESTION_OPENED;
	question->fd = channel_take_fd(message, 0);
	question->named = channel_take_fd(message, 1);
	memcpy(question->answer, message->body.workspace_open.path, sizeof(question->answer));
	handlers_go_on(&supervisor.frontends[question - questions]);
	return 0;
}

int workspace_refused(void *context, struct channel_message *message)
{
	struct question *question = find(message->body.workspace_bad.number);

	if (!question)
		return 0;
	refuse(question, message->body.workspace_bad.text);
	handlers_go_on(&supervisor.frontends[question - questions]);
	return 0;
}

void workspace_lost(void)
{
	for (size_t i = 0; i < FRONTENDS_MAX; i++) {
		if (questions[i].state != QUESTION_ASKED)
			continue;
		refuse(&questions[i], "who opens directories of the host has ended");
		handlers_go_on(&supervisor.frontends[i]);
	}
}
