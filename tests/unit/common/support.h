/* SPDX-License-Identifier: Apache-2.0
 *
 * What several tests of common/ need: pseudo-random numbers, descriptors of each kind, counting
 * descriptors.
 */
#ifndef UNIT_COMMON_SUPPORT_H
#define UNIT_COMMON_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

/* The next pseudo-random number; the same sequence from the same seed. */
uint32_t random_next(uint32_t *seed);

/* A new descriptor of the kind that a letter of ipc_messages.def means; aborts when it cannot. */
int fd_of_kind(char kind);

/* A memory file of so many bytes, and the mapping of it; aborts when it cannot. */
int fd_of_memory(size_t size, void **ret);

/* How many descriptors this process has open. */
size_t fd_count_open(void);

/* Run `child` in a forked process and return what wait(2) says. `child` ends with its result. */
int run_forked(int (*child)(void *), void *argument);

#endif
