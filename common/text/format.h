/* SPDX-License-Identifier: Apache-2.0
 *
 * Short texts in fixed buffers.
 */
#ifndef COMMON_TEXT_FORMAT_H
#define COMMON_TEXT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* As snprintf, cut to fit and always terminated. */
void format_text(char *text, size_t room, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As format_text(), and return `code`, for a line that says why something fails. */
int format_fail(int code, char *text, size_t room, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Append to `text`, cut at its room. */
void format_append(char *text, size_t room, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Write bytes as two hexadecimal digits each; `ret` has room for them and a NUL. */
void format_hex(const uint8_t *bytes, size_t size, char *ret);

#endif
