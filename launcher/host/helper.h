/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that is started for one answer: its output is read to the end, within a time. It ends
 * with us, unless it is left.
 */
#ifndef LAUNCHER_HOST_HELPER_H
#define LAUNCHER_HOST_HELPER_H

#include <stdbool.h>
#include <stddef.h>

#define HELPER_FDS_MAX 4

struct helper {
	int image;                /* executed by its descriptor; -1: by the path words[0] */
	const char *const *words; /* the arguments, the name first, NULL at their end */
	char *const *environment; /* NULL: it is empty */
	int fds[HELPER_FDS_MAX];  /* it gets these from 3 on, and no other */
	size_t fd_count;
	int output_of; /* STDOUT_FILENO or STDERR_FILENO, the one that is read, or HELPER_BOTH */
	int errors;    /* the file of helper_errors(), in place of our stderr; 0: none */
	bool is_left;  /* it goes on where it is late or we have ended */
};
#define HELPER_BOTH 3

enum helper_end {
	HELPER_DONE = 0, /* with the exit code 0 */
	HELPER_ENDED,    /* otherwise: `status` is as wait(2) gives it */
	HELPER_LATE,     /* it was killed after `wait_ms`, or left */
	HELPER_FAILED,   /* it could not be started: `status` is -errno */
};

struct helper_answer {
	enum helper_end end;
	int status;
	size_t size;
};

/* Run it with /dev/null as its input. `size` bytes of its output are in `output`; more are left
 * out. The errors that are not read are ours. */
struct helper_answer helper_run(const struct helper *helper, int wait_ms, void *output,
				size_t room);

/* Make a file for the log lines of a program which may have been taken over: what it writes to a
 * terminal, that would obey. It has little room. A close-on-exec descriptor, which is the caller's,
 * or -errno. */
int helper_errors(void);

/* Log its lines, and close it. */
void helper_log_errors(int *errors);

/* Explain on stderr the end of a program that gave no answer. Returns MSP_EXIT_SOFTWARE. */
int helper_explain_end(const char *program, const struct helper_answer *answer, int wait_ms);

#endif
