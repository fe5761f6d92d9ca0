/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of programs that end when it runs out: an execution or a command is lost, never a rule.
 */
#ifndef LIB_HEAP_MEMORY_H
#define LIB_HEAP_MEMORY_H

#include <stddef.h>

/* Allocate like malloc, calloc, realloc; never NULL: see give_up(). The caller frees it. */
void *memory_get(size_t size);
void *memory_get_zeroed(size_t count, size_t size);
void *memory_resize(void *memory, size_t size);

/* Resize an array to `count` items of `size` bytes; never NULL. */
void *memory_resize_array(void *memory, size_t count, size_t size);

/* Resize a list as grow_list() does (lib/heap/grow.h); never NULL. */
void *memory_grow_list(void *list, size_t *room, size_t count, size_t size);

/* Copy `size` bytes with a NUL behind; never NULL. The caller frees it. */
char *memory_text(const char *bytes, size_t size);

/* Name the missing resource and end with MSP_EXIT_SOFTWARE: the process cannot go on without it. */
void give_up(const char *missing) __attribute__((noreturn));

/* Report an impossible state and abort. Kept in release builds. */
void bug(const char *what) __attribute__((noreturn));

#endif
