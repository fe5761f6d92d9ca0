/* SPDX-License-Identifier: Apache-2.0
 *
 * The C library's allocator for the hooked broker: each allocation, its libraries' too, is a stage
 * that a tracer may refuse.
 */
#include <errno.h>
#include <stddef.h>

#include "common/stage_hook.h"

#define EXPORTED __attribute__((visibility("default")))

/* glibc's own names for what is replaced here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *memory, size_t size);

static int is_refused(void)
{
	const int wanted = stage_hook(STAGE_HOOK_MEMORY, 0);

	if (wanted)
		errno = wanted;
	return wanted;
}

EXPORTED void *malloc(size_t size)
{
	return is_refused() ? NULL : __libc_malloc(size);
}

EXPORTED void *calloc(size_t count, size_t size)
{
	return is_refused() ? NULL : __libc_calloc(count, size);
}

EXPORTED void *realloc(void *memory, size_t size)
{
	return is_refused() ? NULL : __libc_realloc(memory, size);
}
