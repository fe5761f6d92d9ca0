/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <sys/mman.h>

/* The frames of memory_rest() and of its callees, with room to spare. */
#define OWN_FRAMES 512

/* The frames of the deepest calls add up to some 20 kB (-fstack-usage); the kernel maps no more of
 * the stack than was used, and madvise() passes over the rest. */
#define STACK_BYTES (128UL * 1024)

MEMORY_APART struct scratch scratch;

void memory_rest(void)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	const uintptr_t below = (here - OWN_FRAMES) & ~(MEMORY_PAGE - 1UL);

	(void)madvise(&scratch, sizeof(scratch), MADV_DONTNEED);
	(void)madvise((char *)below - STACK_BYTES, STACK_BYTES, MADV_DONTNEED);
	channel_rest();
}
