/* SPDX-License-Identifier: Apache-2.0
 *
 * A call that waits for msp-file, an execution in a persistent sandbox: its input, and its answer,
 * checked because the workload may have forged it. Embedded in the tool's state of the call.
 */
#ifndef BROKER_MCP_CORE_FILE_JOB_H
#define BROKER_MCP_CORE_FILE_JOB_H

#include "common/ipc/ipc_persistent.h"
#include "frontend/file_answer.h"
#include "mcp/core/waiting.h"

struct file_job;
struct ipc_execution_refused;

struct file_job_rules {
	/* It answered without a problem: `answer` is set, and `rest` has the bytes behind it.
	 * Answers the call. */
	void (*answered)(struct file_job *job);
	/* Handle a refusal. True: handled, the call is over. NULL or false: the call fails with the
	 * refusal's text. */
	bool (*refused)(struct file_job *job, const struct ipc_execution_refused *refused);
	/* Handle a problem; `rest` has the bytes behind the answer. Answers the call. NULL: the
	 * call fails with the path and the problem's text. */
	void (*failed)(struct file_job *job);
	/* Take every failure that is left, as the text for the call, which goes on. NULL: the call
	 * fails with it. */
	void (*failed_text)(struct file_job *job, const struct buffer *text);
	/* Free the structure around the job; the call is over. NULL: it has nothing else to free.
	 */
	void (*free)(struct file_job *job);
};

struct file_job {
	struct waiting waiting; /* first */
	const struct file_job_rules *rules;
	struct ipc_file_start wanted;
	struct buffer path;   /* the path as requested */
	struct buffer output; /* the whole output */
	struct file_answer answer;
	const uint8_t *rest;
	size_t rest_size;
};

/* Make a job for a sandbox, by its id or name. The tool's structure has `size` bytes and begins
 * with the job. */
struct file_job *file_job_new(size_t size, const struct file_job_rules *rules, struct call *call,
			      const char *sandbox);

/* Start it with its input; the job is freed when the call is over. False: the call has failed. */
void file_job_start(struct file_job *job, const struct buffer *input);

/* Set the operation and the path; NULL: the workspace. False: the call has failed, and the job is
 * freed. */
bool file_job_ask(struct file_job *job, const char *command, const struct json_value *path);

/* Fail the call with a sentence, before or after the job began; frees the job. */
void file_job_fail(struct file_job *job, const char *problem);

/* The failure of an answer that is none. */
#define FILE_JOB_INCOMPLETE                                                                        \
	"The answer is incomplete: a program in the sandbox interfered, or the file changed "      \
	"meanwhile. Read it again."

/* Answer with the image that is `rest`, and a line of text; frees the job. */
void file_job_answer_image(struct file_job *job, const struct buffer *text, const char *mime_type);

/* Answer the call; frees the job, and takes the text. */
void file_job_answer(struct file_job *job, struct buffer *text, bool is_error);

/* Free the job of a call that is over. */
void file_job_done(struct file_job *job);

/* Put the path as one line. */
void file_job_put_path(const struct file_job *job, struct buffer *text);

#endif
