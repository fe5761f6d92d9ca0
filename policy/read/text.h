/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors of the compiler, for people.
 */
#ifndef POLICY_READ_TEXT_H
#define POLICY_READ_TEXT_H

#include <stdarg.h>
#include <stdint.h>

/* One sentence: the place, the fault, the expected value. */
struct policy_error {
	char text[1024];
};

/* Set it to "FILE:LINE: PATH: ...", without an empty path; control characters that are quoted from
 * a file are replaced, so that it stays one line. Returns -1. */
int policy_error_set(struct policy_error *error, const char *file, uint32_t line, const char *path,
		     const char *format, ...) __attribute__((format(printf, 5, 6)));
void policy_error_vset(struct policy_error *error, const char *file, uint32_t line,
		       const char *path, const char *format, va_list arguments)
	__attribute__((format(printf, 5, 0)));

#endif
