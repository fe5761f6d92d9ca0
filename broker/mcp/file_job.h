/* SPDX-License-Identifier: Apache-2.0
 *
 * A call that waits for msp-file, an execution of a sandbox that lasts: what it is asked, and what
 * it answered, as far as that can be believed. Part of what the tool makes of the call.
 */
#ifndef BROKER_MCP_FILE_JOB_H
#define BROKER_MCP_FILE_JOB_H

#include "frontend/file_answer.h"
#include "mcp/waiting.h"

struct file_job;

struct file_job_rules {
	/* It answered without a problem: `answer` is set, and `rest` has what follows it. Answers
	 * the call. */
	void (*answered)(struct file_job *job);
	/* True: the refusal is dealt with, the call is over. NULL or false: it fails with its text.
	 */
	bool (*refused)(struct file_job *job, const struct ipc_execution_refused *refused);
	/* Free what is around the job; the call is over. */
	void (*free)(struct file_job *job);
};

struct file_job {
	struct waiting waiting; /* first */
	const struct file_job_rules *rules;
	bool is_read; /* of a resource: its failures are errors of the protocol */
	struct ipc_file_start wanted;
	struct buffer path;   /* that it is about, as it was asked for */
	struct buffer output; /* all of it */
	struct file_answer answer;
	const uint8_t *rest;
	size_t rest_size;
};

/* Make one for a sandbox, by its id or name. `size` bytes are whatever the tool has, with the job
 * first. */
struct file_job *file_job_new(size_t size, const struct file_job_rules *rules, struct call *call,
			      const char sandbox[IPC_NAME_MAX]);

/* Start it with what it is to read; the job is gone when the call is over. False: the call has
 * failed. */
void file_job_start(struct file_job *job, const struct buffer *input);

/* The parameter `path` of every tool that has it, and of what is not a path within it. */
#define FILE_PATH_PARAM(required, text)                                                            \
	{                                                                                          \
		.name = "path", .kind = PARAM_TEXT, .is_required = (required),                     \
		.bytes_max = IPC_PATH_MAX - 1, .description = (text)                               \
	}
#define FILE_PATH_TEXT "Relative to /workspace, such as src/main.c, or absolute."

/* Name the operation and the path; NULL: the workspace. False: the call has failed, and the job is
 * gone. */
bool file_job_ask(struct file_job *job, const char *command, const struct json_value *path);

/* Fail the call: a sentence before or after the job began; the job is gone. */
void file_job_fail(struct file_job *job, const char *problem);

/* Answer the call; the job is gone. */
void file_job_answer(struct file_job *job, const struct buffer *text, bool is_error);

/* The call is over without it. */
void file_job_done(struct file_job *job);

/* The path as one line. */
void file_job_put_path(const struct file_job *job, struct buffer *text);

#endif
