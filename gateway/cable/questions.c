/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/questions.h"

#include <stddef.h>
#include <string.h>

#include "common/clock.h"

/* The port of a refused name: programs that a list of hosts is for use TLS. */
#define NAME_PORT 443U

/* `shown` is the first member: one leads to the other. */
static struct question {
	struct ipc_network_host shown; /* count 0: the row is free */
	struct party of;
} questions[QUESTIONS_MAX];

/* A persistent sandbox asks for itself; the ephemeral ones of a client come and go. */
static bool is_asker(const struct question *question, const struct cabled *sandbox)
{
	if (question->shown.count == 0)
		return false;
	if (question->shown.sandbox[0] || sandbox->sandbox[0])
		return strcmp(question->shown.sandbox, sandbox->sandbox) == 0;
	return question->of.frontend == sandbox->party.frontend &&
	       strcmp(question->of.owner, sandbox->party.owner) == 0;
}

static struct question *find_question(const struct cabled *sandbox, const char *host, uint32_t port)
{
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *question = &questions[i];

		if (is_asker(question, sandbox) && question->shown.port == port &&
		    strcmp(question->shown.host, host) == 0)
			return question;
	}
	return NULL;
}

/* Return a free row, or the oldest one: of the asker if that has its share. */
static struct question *find_room(const struct cabled *sandbox)
{
	struct question *oldest = NULL, *own = NULL, *room = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *question = &questions[i];

		if (question->shown.count == 0) {
			room = question;
			continue;
		}
		if (!oldest || question->shown.time_us < oldest->shown.time_us)
			oldest = question;
		if (!is_asker(question, sandbox))
			continue;
		count++;
		if (!own || question->shown.time_us < own->shown.time_us)
			own = question;
	}
	return count >= ASKER_QUESTIONS_MAX ? own : room ? room : oldest;
}

void questions_note(const struct cabled *sandbox, const char *host, uint32_t port)
{
	const uint32_t asked = port ? port : NAME_PORT;
	struct question *question = find_question(sandbox, host, asked);

	if (sandbox->party.frontend == 0)
		return; /* a grant could be for no client */
	if (!question) {
		question = find_room(sandbox);
		*question = (struct question){ .of = sandbox->party };
		question->shown.port = asked;
		memcpy(question->shown.host, host, strlen(host) + 1);
		memcpy(question->shown.sandbox, sandbox->sandbox, IPC_ID_MAX);
		(void)strncpy(question->shown.profile,
			      plan_string(sandbox->policy, sandbox->profile->name),
			      IPC_NAME_MAX - 1);
	}
	question->of = sandbox->party;
	question->shown.frontend = sandbox->party.frontend;
	memcpy(question->shown.owner, sandbox->party.owner, IPC_NAME_MAX);
	question->shown.time_us = clock_now_us();
	question->shown.count += question->shown.count < UINT32_MAX;
}

void questions_answer(const struct party *to, const char *host, uint32_t port)
{
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++) {
		struct question *question = &questions[i];
		const bool is_to =
			to->slot < GATEWAY_SLOTS
				? question->shown.sandbox[0] && question->of.slot == to->slot
				: question->of.frontend == to->frontend &&
					  strcmp(question->of.owner, to->owner) == 0;

		if (is_to && question->shown.port == port &&
		    strcmp(question->shown.host, host) == 0)
			question->shown.count = 0;
	}
}

const struct ipc_network_host *questions_next(const struct ipc_network_host *after)
{
	const struct question *last = (const void *)after;

	for (uint32_t i = last ? (uint32_t)(last - questions) + 1 : 0; i < QUESTIONS_MAX; i++) {
		if (questions[i].shown.count > 0)
			return &questions[i].shown;
	}
	return NULL;
}

void questions_end(uint32_t slot)
{
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++) {
		if (questions[i].of.slot == slot && questions[i].shown.sandbox[0])
			questions[i].shown.count = 0;
	}
}
