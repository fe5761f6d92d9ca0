/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for the broker. A process that serves one client ends when memory runs out: its death
 * ends that client's executions, and nobody else's.
 */
#ifndef BROKER_IO_MEMORY_H
#define BROKER_IO_MEMORY_H

#include <stddef.h>

/* As malloc, calloc, realloc; never NULL: see give_up(). */
void *memory_get(size_t size);
void *memory_get_zeroed(size_t count, size_t size);
void *memory_resize(void *memory, size_t size);

/* The system refuses what this process cannot go on without, memory first of all: say what is
 * missing and end with MSP_EXIT_SOFTWARE. */
void give_up(const char *missing) __attribute__((noreturn));

/* A state that cannot be: say so and end the process. Kept in release builds. */
void bug(const char *what) __attribute__((noreturn));

#endif
