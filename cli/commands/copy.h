/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions of `msp cp` to msp-file in the sandbox, one after the other.
 */
#ifndef CLI_COMMANDS_COPY_H
#define CLI_COMMANDS_COPY_H

#include "ask/ask.h"
#include "frontend/file_answer.h"

struct copy {
	const char *sandbox; /* as the user called it */
	const char *remote;  /* the path in it */
	const char *local;
	bool is_recursive;
	uint64_t left_out; /* files that are not copied; each was told */
	struct asking asking;
	struct question question;
	/* The answer. */
	uint8_t head[sizeof(struct file_head) + IPC_PATH_MAX];
	size_t head_size;
	bool has_answer;
	struct file_answer answer;
	int (*body)(void *context, const uint8_t *bytes, size_t size); /* behind the head */
	void *context;
};

/* The act in the line of progress. */
#define COPY_ACT "copying files"

/* The exit code when a file could not be copied. */
#define COPY_FAILED 1

/* Begin a question: the operation and the path. */
void copy_question(struct copy *copy, const char *command, const char *path);
void copy_number(struct copy *copy, uint64_t number);
void copy_word(struct copy *copy, const char *word);

/*
 * Ask, with what is to be written (-1: nothing) and who is told what follows the answer's head
 * (NULL: nobody). 0 and the answer, which may be a problem; or the exit code, and a line was said.
 */
int copy_ask(struct copy *copy, const char *path, int source,
	     int (*body)(void *context, const uint8_t *bytes, size_t size), void *context);

/* Return a path as one line that can be shown. Valid until the next call. */
const char *copy_shown(const char *path);

/* Say what the answer's problem is. Returns COPY_FAILED. */
int copy_explain(struct copy *copy, const char *path);

/* Say that a file is left out, and why. */
void copy_leave_out(struct copy *copy, const char *where, const char *path, const char *why);

/* `folder`/`name`, in memory of the caller's; without a '/' too many. */
char *copy_join(const char *folder, const char *name);

/* The last part of a path, without slashes behind it; the caller's. NULL: it has none that names
 * anything ("/", ".", ".."). */
char *copy_last_part(const char *path);

/* Everything goes in this direction. The exit code. */
int copy_in(struct copy *copy);
int copy_out(struct copy *copy);

#endif
