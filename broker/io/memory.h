/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for the broker. A process that serves one client ends when memory runs out: its death
 * ends only that client's executions.
 */
#ifndef BROKER_IO_MEMORY_H
#define BROKER_IO_MEMORY_H

#include <stddef.h>

/* Allocate like malloc, calloc, realloc; never NULL: see give_up(). */
void *memory_get(size_t size);
void *memory_get_zeroed(size_t count, size_t size);
void *memory_resize(void *memory, size_t size);

/* Name the missing resource and end with MSP_EXIT_SOFTWARE: the process cannot go on without it. */
void give_up(const char *missing) __attribute__((noreturn));

/* Report an impossible state and abort. Kept in release builds. */
void bug(const char *what) __attribute__((noreturn));

#endif
