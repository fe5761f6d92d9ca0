/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing buffer, and error messages for people. Running out of memory aborts: msp-policy is
 * short-lived and has nothing to save.
 */
#ifndef POLICY_BUFFER_H
#define POLICY_BUFFER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised is empty. After the first addition `bytes` has a NUL behind its `size` bytes. */
struct buffer {
	char *bytes;
	size_t size;
	size_t room;
};

/* One sentence: the place, the fault, the expected value. */
struct policy_error {
	char text[1024];
};

/* Replace control characters that were quoted from a file, so that the error stays one line. */
void policy_error_tidy(struct policy_error *error);

void buffer_add(struct buffer *text, const void *data, size_t size);
void buffer_printf(struct buffer *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void buffer_vprintf(struct buffer *text, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));
void buffer_done(struct buffer *text);

/* Compute the FNV-1a hash. */
uint32_t bytes_hash(const char *bytes, size_t size);

/* Allocate zeroed memory, resize an array to `count` items, or copy `size` bytes with a NUL behind.
 * Never NULL; the caller owns the memory. */
void *memory_zeroed(size_t count, size_t size);
void *memory_resized(void *memory, size_t count, size_t size);
char *memory_text(const char *bytes, size_t size);

#endif
