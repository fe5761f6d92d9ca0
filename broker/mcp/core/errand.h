/* SPDX-License-Identifier: Apache-2.0
 *
 * A call that waits for the supervisor's answers about persistent sandboxes, to one request after
 * another. Embedded in the tool's state of the call.
 */
#ifndef BROKER_MCP_CORE_ERRAND_H
#define BROKER_MCP_CORE_ERRAND_H

#include "executions/requests.h"
#include "mcp/core/call.h"
#include "mcp/core/result.h"

struct changes_job;
struct errand;
struct ipc_execution_refused;

struct errand_rules {
	/* Take an answer that is neither a refusal nor the loss of the supervisor, nor that of a
	 * step. */
	void (*answered)(struct errand *errand, const struct supervisor_answer *answer);
	/* Handle a refusal. True: it is handled. NULL or false: the call fails with the refusal's
	 * text. */
	bool (*refused)(struct errand *errand, const struct ipc_execution_refused *refused);
	/* Free the structure around the errand; the call is over or goes on without it. NULL: it
	 * has nothing else to free. */
	void (*free)(struct errand *errand);
};

struct errand {
	struct asked asked; /* first */
	struct call *call;
	const struct errand_rules *rules;
	/* Takes the answers to a lookup or a job in progress (`job`); NULL: there is none. */
	void (*step)(struct errand *errand, const struct supervisor_answer *answer);
	struct changes_job *job;
	struct refusal_words subjects; /* for the texts; its pointers live as long as the errand */
};

/* Begin; the call waits for answers from now on. `free` is called when the client cancels it. */
void errand_begin(struct errand *errand, struct call *call, const struct errand_rules *rules);

/* Send the request `name` of the call's owner, as requests_ask_of() does. `sandbox`: its id or
 * name; NULL: the request has it, or needs none. If it cannot be sent, the call fails with a
 * remedy, and the errand is freed. */
#define errand_ask(errand, name, sandbox, wanted, fd)                                              \
	errand_ask_of((errand), IPC_TYPE_##name, (sandbox),                                        \
		      1 ? (wanted) : (struct ipc_##name *)NULL, (fd))
void errand_ask_of(struct errand *errand, uint32_t type, const char *sandbox, void *wanted, int fd);

/* Free the structure around it, as its rules say. */
void errand_free(struct errand *errand);

/* Give the call back to the caller, without work to stop. errand_release() frees the errand. */
struct call *errand_leave(struct errand *errand);
struct call *errand_release(struct errand *errand);

/* Answer with a text, which is taken, or a failure and end both. */
void errand_answer(struct errand *errand, struct buffer *text, bool is_error);
void errand_fail(struct errand *errand, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Refuse the call as the supervisor did, or with the text of such a refusal. */
void errand_refuse(struct errand *errand, const struct ipc_execution_refused *refused);

#endif
