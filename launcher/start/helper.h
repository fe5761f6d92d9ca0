/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that is started for one answer: its output is read to the end, within a time. It ends
 * with us.
 */
#ifndef LAUNCHER_START_HELPER_H
#define LAUNCHER_START_HELPER_H

#include <stddef.h>

#define HELPER_FDS_MAX 4

struct helper {
	int image;          /* executed by its descriptor; -1: by the path words[0] */
	char *const *words; /* the arguments, the name first */
	char *const *environment;
	int fds[HELPER_FDS_MAX]; /* it gets these from 3 on, and no other */
	size_t fd_count;
	int output_of; /* STDOUT_FILENO or STDERR_FILENO: the one that is read */
	int errors;    /* the file of helper_errors(), in place of our stderr; 0: none */
};

enum helper_end {
	HELPER_ENDED = 0, /* *ret_status is as wait(2) gives it */
	HELPER_LATE,      /* it was killed after `wait_ms` */
	HELPER_FAILED,    /* it could not be started: *ret_status is -errno */
};

/* Run it with /dev/null as its input. *ret_size bytes of its output are in `output`; more are left
 * out. The one that is not read is ours. */
enum helper_end helper_run(const struct helper *helper, int wait_ms, char *output, size_t room,
			   size_t *ret_size, int *ret_status);

/* Make a file for the log lines of a program which may have been taken over: what it writes to a
 * terminal, that would obey. It has little room. A close-on-exec descriptor, which is the caller's,
 * or -errno. */
int helper_errors(void);

/* Log its lines, and close it. */
void helper_log_errors(int *errors);

/* Explain on stderr the end of a program that gave no answer. Returns MSP_EXIT_SOFTWARE. */
int helper_explain_end(const char *program, enum helper_end end, int status, int wait_ms);

#endif
