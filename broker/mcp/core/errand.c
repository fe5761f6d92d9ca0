/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/errand.h"

#include <stdlib.h>

#include "common/ipc/ipc_refused.h"
#include "mcp/core/sandboxes.h"

void errand_free(struct errand *errand)
{
	if (errand->rules->free)
		errand->rules->free(errand);
	else
		free(errand);
}

static void cancel_errand(struct call *call)
{
	struct errand *errand = call->work;

	asked_forget(&errand->asked);
	errand_free(errand);
}

struct call *errand_leave(struct errand *errand)
{
	asked_forget(&errand->asked);
	errand->call->cancel = NULL;
	errand->call->work = NULL;
	return errand->call;
}

struct call *errand_release(struct errand *errand)
{
	struct call *call = errand_leave(errand);

	errand_free(errand);
	return call;
}

void errand_answer(struct errand *errand, struct buffer *text, bool is_error)
{
	call_answer_text(errand_release(errand), text, is_error);
}

void errand_fail(struct errand *errand, const char *format, ...)
{
	struct buffer text = { 0 };
	va_list words;

	va_start(words, format);
	buffer_vformat(&text, format, words);
	va_end(words);
	errand_answer(errand, &text, true);
}

void errand_refuse(struct errand *errand, const struct ipc_execution_refused *refused)
{
	struct buffer text = { 0 };

	if (errand->rules->refused && errand->rules->refused(errand, refused))
		return;
	buffer_append_text(&text, "Nothing was done. ");
	refusal_put(&text, refused, &errand->subjects, &errand->call->session->host->plan);
	errand_answer(errand, &text, true);
}

static const char *const problems[] = {
	[ASKING_TOO_MANY] =
		"Nothing was done: the limit of waiting calls about sandboxes (64, 8 of them about "
		"changes), or this client's share, is reached. Call again when one is answered.",
	[ASKING_QUEUE_FULL] =
		"Nothing was done: too many requests are waiting. Call again in a moment.",
	[ASKING_LOST] = "Nothing was done: this server is ending. Have the client start it again.",
};

void errand_ask_of(struct errand *errand, uint32_t type, const char *sandbox, void *wanted, int fd)
{
	const struct session *session = errand->call->session;
	enum asking asking;

	sandboxes_head(session, sandbox, wanted);
	asking = requests_ask_of(session->host->requests, type, wanted, fd, &errand->asked);
	if (asking != ASKING_DONE)
		errand_fail(errand, "%s", problems[asking]);
}

static void on_answer(struct asked *asked, const struct supervisor_answer *answer)
{
	struct errand *errand = (struct errand *)asked;

	if (answer->kind == ANSWER_LOST)
		errand_fail(errand,
			    "It is unknown whether this was done: the server is ending. Have the "
			    "client start it again, and check with list_sandboxes.");
	else if (answer->kind == ANSWER_REFUSED)
		errand_refuse(errand, answer->refused);
	else
		(errand->step ? errand->step : errand->rules->answered)(errand, answer);
}

void errand_begin(struct errand *errand, struct call *call, const struct errand_rules *rules)
{
	errand->asked =
		(struct asked){ .answered = on_answer, .principal = call->session->principal };
	errand->call = call;
	errand->rules = rules;
	call->cancel = cancel_errand;
	call->work = errand;
}
