/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages to the operator on stderr, one line each: "msp-supervisor: text". Library code returns
 * errors and does not log; only the code that gives up does.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <unistd.h>

/* The name in front of each line; static storage, set once in main. */
void log_set_name(const char *name);

/* Makes the text one line that can be shown: values may come from a peer. Unless main sets another
 * function, control characters become '?'. The text gets no longer. */
extern void (*log_make_line)(char *text);

/* One line. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One line, and return `code`, for a caller that gives up with it. */
int log_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line, then _exit(code): log_fatal(code, format, ...). */
#define log_fatal(...) _exit(log_fail(__VA_ARGS__))

/* Return the words for a number of errno and its name, as all messages use them: "Too many open
 * files (EMFILE)". For a number without a name: "error 524", in storage that the next call uses
 * again. */
const char *errno_text(int error);

#endif
