/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing byte buffer. An all-zero struct is an empty buffer.
 */
#ifndef LIB_HEAP_BUFFER_H
#define LIB_HEAP_BUFFER_H

#include <stdarg.h>
#include <stddef.h>

struct buffer {
	char *bytes; /* a NUL stands behind them; NULL before anything was appended */
	size_t size;
	size_t room;
};

void buffer_append(struct buffer *buffer, const void *data, size_t size);
void buffer_append_text(struct buffer *buffer, const char *text);

/* Append as printf does. */
void buffer_format(struct buffer *buffer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void buffer_vformat(struct buffer *buffer, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));

/* Append a newline, unless the buffer is empty or ends with one. */
void buffer_end_line(struct buffer *buffer);

/* Drop the first `size` bytes. */
void buffer_drop(struct buffer *buffer, size_t size);

/* Free the bytes; the buffer is empty afterwards. */
void buffer_done(struct buffer *buffer);

#endif
